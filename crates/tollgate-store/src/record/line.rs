//! A record as it is read back: one line of JSON, its names short because there are many of it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A record as it is read back.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Line<'a> {
    /// Which kind: `proposed`, `decided`, `started`, `settled`, `call`, `delivered`, `steps`, `turn`, `asked`,
    /// `answered`, `model`, `traced`, `stopped`.
    #[serde(borrow)]
    pub r: Cow<'a, str>,
    /// The number of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub i: Option<i64>,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub at: i64,
    /// How long the call took, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub us: Option<u64>,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t: Option<u32>,
    /// The place in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<usize>,
    /// The call's own id.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub c: Option<Cow<'a, str>>,
    /// The tool.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Cow<'a, str>>,
    /// Who proposed it, where not `main`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Cow<'a, str>>,
    /// On which route.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Cow<'a, str>>,
    /// The sub-agent that proposed it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Cow<'a, str>>,
    /// Why the model says it called this.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'a, str>>,
    /// The `traceparent` of whoever called.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Cow<'a, str>>,
    /// The caller's key.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Cow<'a, str>>,
    /// Who allowed it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Cow<'a, str>>,
    /// The arguments, secrets redacted.
    #[serde(borrow, default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub input: Option<&'a RawValue>,
    /// What the model wrote, where it was no JSON the tool accepts.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Cow<'a, str>>,
    /// The answer.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub a: Option<&'a RawValue>,
    /// True when recovery wrote it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    /// The question it is about.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub q: Option<Cow<'a, str>>,
    /// How well what ran was kept apart.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Cow<'a, str>>,
    /// Steps, as observers are told them.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<&'a RawValue>,
}

impl Line<'_> {
    pub(crate) fn is(&self, kind: &str, id: i64) -> bool {
        self.r == kind && self.i == Some(id)
    }

    pub(crate) fn answer(self) -> Option<Vec<u8>> {
        self.a.map(|answer| answer.get().as_bytes().to_vec())
    }

    /// True for the one record that ends a call.
    pub fn is_terminal(&self) -> bool {
        self.r == "settled" || self.r == "call"
    }
}

/// A line of the journal that is no record this program can read, as it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable<'a>(pub &'a [u8]);

/// The records of a journal row, in order, and what is none between them.
pub(crate) fn records(body: &[u8]) -> impl Iterator<Item = Result<Line<'_>, Unreadable<'_>>> {
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map_err(|_| Unreadable(line)))
}

/// The same without what is none, for whoever looks for one record.
pub(crate) fn lines(body: &[u8]) -> impl Iterator<Item = Line<'_>> {
    records(body).filter_map(Result::ok)
}
