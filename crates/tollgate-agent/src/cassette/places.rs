//! What differs from machine to machine, by name: put in where a cassette is played, left out where it is made.

use tollgate::outcome::Redactor;

/// Texts with names, as the working folder under `cwd`, and secrets without.
#[derive(Clone, Default)]
pub struct Places {
    named: Vec<(String, String)>,
    redactor: Redactor,
}

/// Shorter texts stand everywhere.
const SHORTEST: usize = 4;

impl Places {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with a text under a name. One too short to be told from others is not looked for.
    #[must_use]
    pub fn with(mut self, name: &str, text: &str) -> Self {
        let text = text.trim_end_matches('/');
        if text.len() >= SHORTEST {
            self.named.push((format!("{{{{{name}}}}}"), text.to_owned()));
            // The longest first: the folder before the one it lies in.
            self.named.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
        }
        self
    }

    /// The same, and this is never written down. Secrets of known form are not, whether they are named here or not.
    #[must_use]
    pub fn without(mut self, secret: &str) -> Self {
        self.redactor = self.redactor.marking("key", secret);
        self
    }

    /// A text as it is written down.
    pub(super) fn take_out(&self, text: &str) -> String {
        let text = self.redactor.text(text).into_owned();
        self.named.iter().fold(text, |text, (name, place)| text.replace(place.as_str(), name))
    }

    /// JSON text as it is written down.
    pub(super) fn take_out_json(&self, json: &str) -> String {
        let json = self.redactor.text(json).into_owned();
        self.named.iter().fold(json, |json, (name, place)| json.replace(&in_json(place), name))
    }

    /// JSON text as it is meant here.
    pub(super) fn put_in_json(&self, json: &str) -> String {
        self.named
            .iter()
            .fold(json.to_owned(), |json, (name, place)| json.replace(name.as_str(), &in_json(place)))
    }

    /// A text as it is meant here.
    pub(super) fn put_in(&self, text: &str) -> String {
        self.named.iter().fold(text.to_owned(), |text, (name, place)| text.replace(name.as_str(), place))
    }
}

/// A text as a part of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("named", &self.named).finish_non_exhaustive()
    }
}
