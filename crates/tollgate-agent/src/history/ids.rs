//! An id from one provider becomes one that every other takes.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};
use tollgate::{outcome::hex, wire::Provider};

/// The longest id that is taken everywhere, chat completions being the strictest.
const LONGEST: usize = 40;

/// The longest name that is taken everywhere.
const LONGEST_NAME: usize = 64;

/// The ids that stand in a projected history.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    used: HashSet<String>,
}

impl Ids {
    /// The id of a call of the same provider, which takes it back as it came, unless it came before: then another one.
    pub(super) fn keep(&mut self, provider: Provider, id: &str) -> String {
        let good = match provider {
            Provider::Anthropic => is_legal(id, 64),
            Provider::OpenAiResponses => id.len() <= 64,
            Provider::OpenAiChat => id.len() <= LONGEST,
        };
        if good && self.used.insert(id.to_owned()) { id.to_owned() } else { self.fit(id) }
    }

    /// A legal id for a call of another provider, none that stands already. The same history gives the same ids.
    pub(super) fn fit(&mut self, id: &str) -> String {
        let mut fitting = if is_legal(id, LONGEST) { id.to_owned() } else { hashed(id) };
        let mut again = 1;
        while !self.used.insert(fitting.clone()) {
            again += 1;
            fitting = hashed(&format!("{id}#{again}"));
        }
        fitting
    }
}

fn is_legal(id: &str, longest: usize) -> bool {
    !id.is_empty()
        && id.len() <= longest
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn hashed(id: &str) -> String {
    format!("call_{}", hex(&Sha256::digest(id.as_bytes())[..12]))
}

/// The name of a called tool as every provider takes it in a history.
pub(super) fn fit_name(name: &str) -> String {
    let joined = match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((server, tool)) => format!("{server}__{tool}"),
        None => name.to_owned(),
    };
    let fitting: String = joined
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if fitting.is_empty() { "unnamed".to_owned() } else { fitting }
}
