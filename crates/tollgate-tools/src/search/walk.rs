//! How a folder is walked: ignore files respected, links not followed, other file systems not entered.

use std::path::Path;

use ignore::{WalkBuilder, WalkParallel, overrides::OverrideBuilder, types::TypesBuilder};
use serde::Deserialize;
use tollgate::Refusal;

/// What is walked of a folder.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Filter {
    /// Only paths these globs match; with `!` in front, all but those.
    #[serde(default)]
    pub(super) globs: Vec<String>,
    /// Only files of these types, as ripgrep names them.
    #[serde(default)]
    pub(super) types: Vec<String>,
    /// Hidden files too.
    #[serde(default)]
    pub(super) hidden: bool,
    /// What ignore files leave out too.
    #[serde(default)]
    pub(super) no_ignore: bool,
}

/// More threads than this help nobody.
const MOST_THREADS: usize = 12;

impl Filter {
    /// The walk of `folder`.
    pub(super) fn walk(&self, folder: &Path) -> Result<WalkParallel, Refusal> {
        let mut walk = WalkBuilder::new(folder);
        walk.follow_links(false)
            .same_file_system(true)
            .hidden(!self.hidden)
            .parents(!self.no_ignore)
            .ignore(!self.no_ignore)
            .git_ignore(!self.no_ignore)
            .git_exclude(!self.no_ignore)
            .git_global(!self.no_ignore)
            .threads(std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS)));
        if !self.no_ignore {
            walk.add_custom_ignore_filename(".rgignore");
        }
        if !self.globs.is_empty() {
            let mut globs = OverrideBuilder::new(folder);
            for (at, glob) in self.globs.iter().enumerate() {
                globs.add(glob).map_err(|error| bad_glob(&format!("/globs/{at}"), &error))?;
            }
            walk.overrides(globs.build().map_err(|error| bad_glob("/globs", &error))?);
        }
        if !self.types.is_empty() {
            let mut types = TypesBuilder::new();
            types.add_defaults();
            for name in &self.types {
                types.select(name);
            }
            walk.types(types.build().map_err(|error| {
                Refusal::invalid_value("/types", error.to_string())
                    .with_hint("Use names like `rust`, `py`, `js`, `md`; or give `globs` instead.")
            })?);
        }
        Ok(walk.build_parallel())
    }
}

fn bad_glob(pointer: &str, error: &ignore::Error) -> Refusal {
    Refusal::invalid_value(pointer, error.to_string()).with_hint("Write a glob like `*.rs` or `src/**/*.ts`.")
}
