//! One change of one file, as the journal keeps it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Changed(Box<Entry>),
    /// Taken back, or never happened.
    Closed {
        id: String,
    },
}

/// A recorded change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What tells it from every other.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// What.
    #[serde(flatten)]
    pub change: Change,
}

/// What was done to a file, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The run.
    pub run: String,
    /// Who proposed the call.
    pub caller: String,
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The root the file lies beneath.
    pub root: PathBuf,
    /// The file, from its root.
    pub rel: PathBuf,
    /// The hash of what was there; `None` when nothing was.
    pub before: Option<String>,
    /// The hash of what is there after; `None` when nothing is.
    pub after: Option<String>,
    /// The permissions it had.
    pub mode: Option<u32>,
    /// Folders that were made for it, from the root, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<PathBuf>,
}

impl Change {
    /// The file.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.rel)
    }
}
