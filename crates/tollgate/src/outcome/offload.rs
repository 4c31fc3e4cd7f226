//! Oversized results are kept whole, content-addressed, and read back by whom they were kept for.

use std::{fmt, io::Read, sync::Arc};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{Evidence, Trust};
use crate::tool::Caller;

/// Where results are kept that are too long for the model.
pub trait ResultStore: Send + Sync + 'static {
    /// Keeps the whole and says under which reference. Durable when it returns.
    fn keep(&self, whole: Arc<str>, label: Label) -> BoxFuture<'_, Result<ResultRef, StoreFault>>;

    /// A part of a result that was kept for this caller.
    fn read<'a>(
        &'a self,
        result: &'a ResultRef,
        caller: &'a Caller,
        part: Part,
    ) -> BoxFuture<'a, Result<String, StoreFault>>;

    /// The whole, from its first byte on, once its hash was found right. Blocks its thread.
    fn open(&self, result: &ResultRef, caller: &Caller) -> Result<Opened, StoreFault>;
}

/// For whom a result is kept, and whether its content may be taken at its word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Nobody else reads it.
    pub caller: Caller,
    /// Goes wherever the content goes.
    pub trust: Trust,
}

/// A kept result, open for reading.
pub struct Opened {
    /// Its bytes.
    pub content: Box<dyn Read + Send>,
    /// How many.
    pub bytes: u64,
    /// Whether they may be taken at their word.
    pub trust: Trust,
}

/// The reference of a kept result: its content hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultRef(Arc<str>);

/// Which part of a kept result to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `count` lines from the one numbered `from`, counted from 1.
    Lines {
        /// The first line.
        from: usize,
        /// How many.
        count: usize,
    },
    /// `len` bytes from `offset`.
    Bytes {
        /// The first byte.
        offset: u64,
        /// How many.
        len: usize,
    },
}

/// That, and where, a result was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offloaded {
    /// The reference to read it by; `None` when it could not be kept.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultRef>,
    /// Characters of the whole.
    pub chars: usize,
    /// Lines of the whole.
    pub lines: usize,
    /// Characters the model did not get.
    pub omitted_chars: usize,
}

/// Why a result could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// Not a reference of ours.
    #[error("`{0}` is not a result reference")]
    BadRef(String),
    /// Nothing is kept under it.
    #[error("no result is kept as `{0}`")]
    Missing(String),
    /// What is kept under it is not what was kept.
    #[error("what is kept as `{0}` was changed since: its hash is another one")]
    Changed(String),
    /// It takes more room than all results together may.
    #[error("a result of {bytes} bytes does not fit into the store's {quota}")]
    Full {
        /// Its length.
        bytes: u64,
        /// The room there is.
        quota: u64,
    },
    /// The disk said no.
    #[error("the result store failed: {0}")]
    Io(#[from] std::io::Error),
}

impl ResultRef {
    /// The reference as text: `sha256:` and the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The reference of this content.
    pub fn of(content: &[u8]) -> Self {
        Self(Evidence::of(content).as_str().into())
    }

    /// Reads a reference, refusing anything that could name another file.
    pub fn parse(text: &str) -> Result<Self, StoreFault> {
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Ok(Self(text.into()))
            }
            _ => Err(StoreFault::BadRef(text.chars().take(100).collect())),
        }
    }
}

impl fmt::Display for ResultRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
