//! Policy from `tollgate.toml` files. A file is read whole or not at all: nothing runs on half a policy.

use std::{
    fmt,
    path::{Path, PathBuf},
};

mod place;
mod table;
mod long;
mod example;
mod file;
mod trusted;
mod sources;
mod keeper;

pub use file::ConfigFile;
pub use keeper::FileKeeper;
pub use sources::{Loaded, LoadedFile, Sources};
pub use trusted::{Trust, TrustStore};

/// The name of the file in a project, and below a person's or a machine's configuration.
pub const FILE_NAME: &str = "tollgate.toml";

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadConfig {
    /// The file.
    pub file: PathBuf,
    /// Line and column, both from 1; `None` where the file could not be read at all.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl BadConfig {
    fn unread(file: &Path, message: impl Into<String>, hint: &str) -> Self {
        Self { file: file.to_owned(), place: None, message: message.into(), hint: hint.to_owned() }
    }
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for BadConfig {}
