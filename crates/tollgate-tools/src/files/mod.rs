//! The file tools: `read`, `read_file`, `write`, `edit`. Everything they touch is held beneath the roots.

use std::sync::Arc;

use tollgate::{Registry, catalog::RegistryError};

use crate::{builtin::add, command::Guard, journal::Journal};

mod encoding;
mod lines;
mod listing;
mod picture;
mod seen;
mod nearest;
mod patch;
mod change;
mod attributes;
pub(crate) mod diff;
pub(crate) mod replace;
mod alter;
mod read_file;
mod read;
mod write;
mod edit;

pub use edit::Edit;
pub use read::Read;
pub use read_file::ReadFile;
use seen::Seen;
pub use write::Write;

/// What the file tools of one program share: what each run has seen of a file, and the journal of changes.
#[derive(Debug, Default)]
pub struct Files {
    pub(crate) seen: Seen,
    pub(crate) journal: Option<Journal>,
    guard: Guard,
}

impl Files {
    /// Without a journal nothing can be undone, so every change counts as destructive.
    pub fn new(journal: Option<Journal>) -> Arc<Self> {
        Self::guarded(journal, Guard::open())
    }

    /// The same, and a change tells nothing of a file that may be written but not read.
    pub fn guarded(journal: Option<Journal>, guard: Guard) -> Arc<Self> {
        Arc::new(Self { seen: Seen::default(), journal, guard })
    }

    /// The registry with the file tools; with `only`, just the one that answers to that name.
    pub fn register(
        self: &Arc<Self>,
        registry: Registry,
        only: Option<&str>,
    ) -> Result<Registry, RegistryError> {
        let registry = add(registry, only, read::NAMES, || Read(self.clone()))?;
        let registry = add(registry, only, read_file::NAMES, || ReadFile(self.clone()))?;
        let registry = add(registry, only, write::NAMES, || Write(self.clone()))?;
        add(registry, only, edit::NAMES, || Edit(self.clone()))
    }
}
