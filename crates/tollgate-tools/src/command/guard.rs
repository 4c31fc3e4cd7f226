//! Files that a command did not name and must not read, or change, all the same: found before it runs, and kept from it.
//!
//! Rules and protected names speak of paths. A command that reads a folder, or a pattern, names none of the files it
//! finds there; so the folders it reads are looked through first. What one changes no words tell for certain; so what
//! the rules deny changing is closed to every command that does more than read.

use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tollgate::Scope;

use super::{
    look::{self, Look},
    reach::{climbs, from, lexical, reads_anywhere, reads_its_folder, start},
    repository::Repository,
    shown,
};
use crate::{
    sandbox::{Confined, Hidden},
    shell::{Analysis, Leaf},
};

/// What the rules say of reading a file that nobody named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// Nothing.
    Allowed,
    /// Somebody would be asked.
    Asks,
    /// Never.
    Denied,
}

/// Says what may be read and changed, by whom: asked for every call anew, because rules change and speak of callers.
#[derive(Clone)]
pub struct Guard {
    says: Arc<Says>,
    denies: Arc<Now>,
    closes: Arc<Closes>,
    denies_writing: Arc<Now>,
    own: Arc<[PathBuf]>,
    /// Nobody said what the rules are.
    open: bool,
}

type Now = dyn Fn() -> bool + Send + Sync;
type Says = dyn Fn(&Scope, &Path) -> Reading + Send + Sync;
type Closes = dyn Fn(&Scope, &Path) -> bool + Send + Sync;

impl Guard {
    /// With these rules. Where no rule `denies` reading, commands that do more than read are not looked after: somebody
    /// has said yes to them.
    pub fn new(
        denies: impl Fn() -> bool + Send + Sync + 'static,
        says: impl Fn(&Scope, &Path) -> Reading + Send + Sync + 'static,
    ) -> Self {
        let (closes, never) = (Arc::new(|_: &Scope, _: &Path| false), Arc::new(|| false));
        let (says, denies) = (Arc::new(says), Arc::new(denies));
        Self { says, denies, closes, denies_writing: never, own: Arc::default(), open: false }
    }

    /// The same, and what this `closes` no command changes. Where no rule `denies` writing, nobody looks for it.
    #[must_use]
    pub fn closing(
        mut self,
        denies: impl Fn() -> bool + Send + Sync + 'static,
        closes: impl Fn(&Scope, &Path) -> bool + Send + Sync + 'static,
    ) -> Self {
        (self.denies_writing, self.closes) = (Arc::new(denies), Arc::new(closes));
        self
    }

    /// What the rules say of reading this file, in a call of this scope.
    pub fn says(&self, scope: &Scope, path: &Path) -> Reading {
        (self.says)(scope, path)
    }

    /// True where the rules deny changing this file, in a call of this scope.
    pub(super) fn closes(&self, scope: &Scope, path: &Path) -> bool {
        (self.closes)(scope, path)
    }

    /// The same, and these folders of ours are kept from every command, whether they exist yet or not.
    #[must_use]
    pub fn with_own(mut self, own: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own = own.into_iter().collect();
        self
    }

    /// Folders of ours that lie in these roots.
    fn own_in(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let inside = |place: &&PathBuf| roots.iter().any(|root| place.starts_with(root));
        self.own.iter().filter(inside).cloned().collect()
    }

    /// Everything may be read and changed.
    pub fn open() -> Self {
        Self { open: true, ..Self::new(|| false, |_, _| Reading::Allowed) }
    }

    /// True where a rule denies reading something.
    pub(super) fn denies_reading(&self) -> bool {
        (self.denies)()
    }

    /// True where nobody said what the rules are, so that what it allows means nothing.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// True where there is nothing to look through.
    pub(super) fn is_quick(&self, analysis: &Analysis, confined: Confined) -> bool {
        match confined {
            Confined::Writing => !(self.denies)() && !(self.denies_writing)(),
            Confined::Reading => {
                let more = |leaf: &Leaf| reads_its_folder(leaf) || reads_anywhere(leaf);
                analysis.reads.is_empty() && !analysis.leaves.iter().any(more)
            }
        }
    }

    /// What no command is told about, whatever its words are.
    pub(super) fn always(&self, scope: &Scope) -> Hidden {
        Hidden { own: self.own_in(scope.roots()), ..Hidden::default() }
    }

    /// What is to be kept from a command, each file or folder as it really is.
    pub(super) fn hidden(
        &self,
        analysis: &Analysis,
        confined: Confined,
        folder: &Path,
        scope: &Scope,
        home: Option<&Path>,
    ) -> io::Result<Hidden> {
        let always = self.always(scope);
        Ok(match confined {
            Confined::Writing => Hidden { found: self.denied(scope)?, closed: self.closed(scope)?, ..always },
            Confined::Reading => Hidden { found: self.unnamed(analysis, folder, scope, home)?, ..always },
        })
    }

    /// What a command that only reads would come upon.
    fn unnamed(
        &self,
        analysis: &Analysis,
        folder: &Path,
        scope: &Scope,
        home: Option<&Path>,
    ) -> io::Result<Vec<PathBuf>> {
        let roots = scope.roots();
        let named: Vec<PathBuf> = analysis.reads.iter().map(|read| from(read, folder, home)).collect();
        let mut starts: BTreeSet<PathBuf> = named.iter().filter_map(|path| start(path)).collect();
        if analysis.leaves.iter().any(reads_its_folder) {
            starts.extend(folder.canonicalize());
        }
        if analysis.leaves.iter().any(shown::reads_the_folder) {
            let tops: Vec<_> = starts.iter().filter_map(|start| Repository::of(start)).collect();
            starts.extend(tops.into_iter().map(|repository| repository.top));
        }
        if named.iter().any(|path| climbs(path)) || analysis.leaves.iter().any(reads_anywhere) {
            starts.extend(roots.iter().cloned());
        }
        let decided: BTreeSet<PathBuf> = named.iter().filter_map(|path| lexical(path)).collect();
        // What was decided on must not go with the folder it is in.
        let mut kept = starts.clone();
        kept.extend(decided.iter().flat_map(|path| path.ancestors().skip(1).map(Path::to_owned)));
        let mut look = Look::new(self, Reading::Asks, scope).keeping(kept);
        // Where the rules ask about a folder that was named, somebody has said yes to what is in it.
        let asked = |path: &&PathBuf| path.is_dir() && self.says(scope, path) >= Reading::Asks;
        look.asked = decided.iter().filter(asked).cloned().collect();
        for real in starts {
            // Elsewhere nothing is opened to a command that a rule could close.
            if !roots.iter().any(|root| real.starts_with(root) || root.starts_with(&real)) {
                continue;
            }
            if real.is_dir() {
                look.through(&real)?;
            } else if look.hides(&real) {
                look.hidden.insert(real);
            }
        }
        // A file that was named by its own name was decided on. A folder is not: what it holds nobody named.
        look.hidden.retain(|path| path.is_dir() || !decided.contains(path));
        Ok(look.found())
    }

    /// Everything in the roots that a rule denies reading.
    fn denied(&self, scope: &Scope) -> io::Result<Vec<PathBuf>> {
        let mut look =
            Look::new(self, Reading::Denied, scope).keeping(scope.roots().iter().cloned().collect());
        if (self.denies)() {
            scope.roots().iter().try_for_each(|root| look.through(root).map(drop))?;
        }
        Ok(look.found())
    }

    /// Everything in the roots that a rule denies changing.
    fn closed(&self, scope: &Scope) -> io::Result<Vec<PathBuf>> {
        if (self.denies_writing)() { look::closed(self, scope) } else { Ok(Vec::new()) }
    }

    /// Everything in the roots that no command may have, or change.
    pub(super) fn forbidden(&self, scope: &Scope) -> io::Result<Vec<PathBuf>> {
        let mut all = self.own_in(scope.roots());
        all.extend(self.denied(scope)?);
        all.extend(self.closed(scope)?);
        Ok(all)
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::open()
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("own", &self.own).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
