//! The file tools: `read`, `read_file`, `write`, `edit`. Everything they touch is held beneath the roots.

use std::sync::Arc;

use serde_json::Value;
use tollgate::{Registry, ToolSpec, catalog::RegistryError, tool::ToolName};

use crate::journal::Journal;

mod encoding;
mod lines;
mod listing;
mod picture;
mod seen;
mod nearest;
mod patch;
mod change;
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
}

impl Files {
    /// Without a journal nothing can be undone, so every change counts as destructive.
    pub fn new(journal: Option<Journal>) -> Arc<Self> {
        Arc::new(Self { seen: Seen::default(), journal })
    }

    /// The registry with the file tools; with `only`, just the one that answers to that name.
    pub fn register(
        self: &Arc<Self>,
        registry: Registry,
        only: Option<&str>,
    ) -> Result<Registry, RegistryError> {
        let wanted = |names: &[&str]| only.is_none_or(|only| names.contains(&only));
        let mut registry = registry;
        if wanted(read::NAMES) {
            registry = registry.with(Read(self.clone()))?;
        }
        if wanted(read_file::NAMES) {
            registry = registry.with(ReadFile(self.clone()))?;
        }
        if wanted(write::NAMES) {
            registry = registry.with(Write(self.clone()))?;
        }
        if wanted(edit::NAMES) {
            registry = registry.with(Edit(self.clone()))?;
        }
        Ok(registry)
    }
}

/// The metadata of a built-in tool: its name, its aliases, and what differs from the safe side.
pub(crate) fn builtin(
    names: &[&str],
    description: &'static str,
    schema: Value,
    declare: impl FnOnce(&mut ToolSpec),
) -> ToolSpec {
    let (name, aliases) = names.split_first().map_or(("", names), |(name, aliases)| (*name, aliases));
    #[expect(clippy::expect_used, reason = "the names are constants, and registered in every test")]
    let mut spec = ToolSpec::new(name, description, schema).expect("a legal name");
    spec.owner = Some("tollgate".into());
    spec.aliases = aliases.iter().filter_map(|alias| ToolName::new(alias).ok()).collect();
    declare(&mut spec);
    spec
}
