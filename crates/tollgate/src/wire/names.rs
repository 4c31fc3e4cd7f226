//! Every tool has one name on the wire that its provider takes, and the way back is kept, never guessed.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::Provider;
use crate::outcome::hex;

/// Names that providers keep for tools of their own.
const RESERVED: [&str; 2] = ["tool_search_tool_bm25", "tool_search_tool_regex"];

/// Digits of the hash that tells two tools apart; more are taken where these are not enough.
const SHORT_HASH: usize = 8;

/// The wire names of one list of tools, both ways. The same tools give the same names, in whatever order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WireNames {
    wire: HashMap<Arc<str>, Arc<str>>,
    inner: HashMap<Arc<str>, Arc<str>>,
}

impl WireNames {
    /// Names every label: `read` stays, `@github/create_issue` becomes `github__create_issue`.
    ///
    /// What no provider takes is replaced by `_`. A short hash of the label is added only where a name would be
    /// too long or would stand for two tools; a tool whose label already is the name keeps it.
    pub fn new<'a>(provider: Provider, labels: impl IntoIterator<Item = &'a str>) -> Self {
        let longest = provider.longest_name();
        let mut by_name: BTreeMap<Cow<'a, str>, Vec<&'a str>> = BTreeMap::new();
        for label in labels.into_iter().collect::<BTreeSet<_>>() {
            by_name.entry(readable(label)).or_default().push(label);
        }
        let mut names = Self::default();
        let mut waiting = Vec::new();
        for (name, labels) in &by_name {
            let free = name.len() <= longest && !RESERVED.contains(&&**name);
            match labels[..] {
                [only] if free => names.keep(only, name),
                _ => waiting.extend(labels.iter().filter_map(|label| {
                    let owner = free && label == name;
                    if owner {
                        names.keep(label, name);
                    }
                    (!owner).then_some((name, *label))
                })),
            }
        }
        for (name, label) in waiting {
            let wire = names.hashed(name, label, longest);
            names.keep(label, &wire);
        }
        names
    }

    /// The wire name of a tool.
    pub fn wire(&self, inner: &str) -> Option<&str> {
        self.wire.get(inner).map(|name| &**name)
    }

    /// The tool a wire name stands for; `None` for a name that was never given out.
    pub fn inner(&self, wire: &str) -> Option<&str> {
        self.inner.get(wire).map(|label| &**label)
    }

    /// How many tools have a name.
    pub fn len(&self) -> usize {
        self.wire.len()
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.wire.is_empty()
    }

    fn keep(&mut self, label: &str, name: &str) {
        let (label, name): (Arc<str>, Arc<str>) = (label.into(), name.into());
        self.wire.insert(label.clone(), name.clone());
        self.inner.insert(name, label);
    }

    fn hashed(&self, name: &str, label: &str, longest: usize) -> String {
        let hash = hex(&Sha256::digest(label.as_bytes()));
        let mut digits = SHORT_HASH;
        loop {
            let kept = name.len().min(longest - digits - 1);
            let wire = format!("{}_{}", &name[..kept], &hash[..digits]);
            if !self.inner.contains_key(&*wire) || digits + 1 >= longest.min(hash.len()) {
                return wire;
            }
            digits += 1;
        }
    }
}

/// The label in the characters every provider takes; `server__tool` for a tool of a server.
fn readable(label: &str) -> Cow<'_, str> {
    let joined = match label.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((server, tool)) => Cow::Owned(format!("{server}__{tool}")),
        None => Cow::Borrowed(label),
    };
    if is_legal(&joined, usize::MAX) {
        return joined;
    }
    let mut name: String = joined.chars().map(|c| if is_name_char(c) { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    Cow::Owned(name)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_legal(name: &str, longest: usize) -> bool {
    name.len() <= longest
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_name_char)
}

/// True where a provider takes the name of a call in a history.
pub(super) fn fits_history(provider: Provider, name: &str) -> bool {
    !name.is_empty() && name.len() <= provider.longest_name() && name.chars().all(is_name_char)
}

/// A name as it may stand in a history: what a model made up is refused there as much as in a list of tools.
pub(super) fn for_history(provider: Provider, name: &str) -> Cow<'_, str> {
    if fits_history(provider, name) {
        return Cow::Borrowed(name);
    }
    let mut fitting: String =
        name.chars().take(provider.longest_name()).map(|c| if is_name_char(c) { c } else { '_' }).collect();
    if fitting.is_empty() {
        fitting.push_str("unnamed");
    }
    Cow::Owned(fitting)
}
