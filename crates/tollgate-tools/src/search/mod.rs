//! The search tools: `grep` and `glob`, on ripgrep's own crates, beneath the roots.
//!
//! Folders are walked by name and links are not followed; a file's content is opened through the folder that was held
//! by the check, with no link on the way, and only where it has no second name.

use std::{fmt, path::Path, sync::Arc};

use serde_json::Value;
use tollgate::{Registry, Scope, ToolSpec, catalog::RegistryError, tool::Interrupt};

use crate::builtin::{add, builtin};

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

type Withheld = dyn Fn(&Scope, &Path) -> bool + Send + Sync;

impl Default for Search {
    fn default() -> Self {
        Self { withheld: Arc::new(|_, path| secret::is_secret(path)) }
    }
}

impl Search {
    /// Searches everything but secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and `grep` of a folder leaves these files out too: a rule that keeps a file from being read must not be
    /// got around by searching the folder it is in. It is asked with the scope of the call: rules speak of callers.
    #[must_use]
    pub fn withholding(self, also: impl Fn(&Scope, &Path) -> bool + Send + Sync + 'static) -> Self {
        let before = self.withheld;
        Self { withheld: Arc::new(move |scope, path| before(scope, path) || also(scope, path)) }
    }

    /// The registry with the search tools; with `only`, just the one of that name.
    pub fn register(&self, registry: Registry, only: Option<&str>) -> Result<Registry, RegistryError> {
        let registry = add(registry, only, grep::NAMES, || Grep(self.clone()))?;
        add(registry, only, glob::NAMES, || Glob)
    }
}

/// What both search tools are.
fn searching(names: &[&str], description: &str, schema: Value) -> ToolSpec {
    builtin(names, description, schema, |spec| {
        spec.capability = Some("files.search".into());
        spec.requires_permission = false;
        spec.at_worst = tollgate::Effects::reading();
        spec.interrupt = Interrupt::Cancel;
        spec.traced = vec!["pattern".into(), "path".into()];
    })
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").finish_non_exhaustive()
    }
}
