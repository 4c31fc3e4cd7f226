//! Servers that are configured and whose tools nobody knows: a call of one is told so, and not that there is no such tool.

use std::sync::Arc;

use crate::{
    json::shorten,
    outcome::{Refusal, RefusalCode},
};

/// A server whose tools are not there. No secret and no operator's error belongs in it: the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// The server.
    pub server: Arc<str>,
    /// What is the matter, as the end of a sentence about the server: "could not be reached".
    pub why: Arc<str>,
    /// What to do about it.
    pub hint: Arc<str>,
}

impl Absent {
    /// True when a tool of this name would be one of the server's: `server__tool`, or `@server/tool` as rules write it.
    pub fn has(&self, name: &str) -> bool {
        let (begin, between) = match name.strip_prefix('@') {
            Some(rest) => (rest, "/"),
            None => (name, "__"),
        };
        begin.strip_prefix(&*self.server).is_some_and(|rest| rest.starts_with(between))
    }

    pub(super) fn refusal(&self, name: &str) -> Refusal {
        let Self { server, why, hint } = self;
        let shown = shorten(name, 80);
        let reason =
            format!("The tool {shown:?} is not known: its server `{server}` is configured, and {why}.");
        Refusal::new(RefusalCode::UnknownTool, reason).with_hint(hint.to_string())
    }
}
