//! The search tools: `grep` and `glob`, on ripgrep's own crates, beneath the roots.
//!
//! Folders are walked by name and links are not followed; a file's content is opened through the folder that was held
//! by the check, with no link on the way, and only where it has no second name.

use std::{fmt, path::Path, sync::Arc};

use tollgate::{Registry, catalog::RegistryError};

mod secret;
mod walk;
mod hits;
mod grep;
mod glob;

pub use glob::Glob;
pub use grep::Grep;

/// What the search tools of one program share.
#[derive(Clone)]
pub struct Search {
    withheld: Arc<Withheld>,
}

type Withheld = dyn Fn(&Path) -> bool + Send + Sync;

impl Default for Search {
    fn default() -> Self {
        Self { withheld: Arc::new(secret::is_secret) }
    }
}

impl Search {
    /// Searches everything but secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and `grep` of a folder leaves these files out too: a rule that keeps a file from being read must not be
    /// got around by searching the folder it is in.
    #[must_use]
    pub fn withholding(self, also: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        let before = self.withheld;
        Self { withheld: Arc::new(move |path| before(path) || also(path)) }
    }

    /// The registry with the search tools; with `only`, just the one of that name.
    pub fn register(&self, registry: Registry, only: Option<&str>) -> Result<Registry, RegistryError> {
        let wanted = |names: &[&str]| only.is_none_or(|only| names.contains(&only));
        let mut registry = registry;
        if wanted(grep::NAMES) {
            registry = registry.with(Grep(self.clone()))?;
        }
        if wanted(glob::NAMES) {
            registry = registry.with(Glob)?;
        }
        Ok(registry)
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").finish_non_exhaustive()
    }
}
