//! An id from one provider becomes one that every other takes.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

/// The longest id that is taken everywhere.
const LONGEST: usize = 64;

/// The ids that stand in a projected history.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    used: HashSet<String>,
}

impl Ids {
    /// An id that stands as it came: the provider that gave it takes it back.
    pub(super) fn keep(&mut self, id: &str) {
        self.used.insert(id.to_owned());
    }

    /// A legal id for a call of another provider, none that stands already. The same history gives the same ids.
    pub(super) fn fit(&mut self, id: &str) -> String {
        let mut fitting = if is_legal(id) { id.to_owned() } else { hashed(id) };
        let mut again = 1;
        while !self.used.insert(fitting.clone()) {
            again += 1;
            fitting = hashed(&format!("{id}#{again}"));
        }
        fitting
    }
}

fn is_legal(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= LONGEST
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn hashed(id: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(id.as_bytes()).iter().take(12).fold("call_".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The name of a called tool as every provider takes it in a history.
pub(super) fn fit_name(name: &str) -> String {
    let joined = match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((server, tool)) => format!("{server}__{tool}"),
        None => name.to_owned(),
    };
    let fitting: String = joined
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if fitting.is_empty() { "unnamed".to_owned() } else { fitting }
}
