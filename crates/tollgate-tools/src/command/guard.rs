//! Files that a command did not name and must not read all the same: found before it runs, and hidden from it.
//!
//! Rules and protected names speak of paths. A command that reads a folder, or a pattern, names none of the files it
//! finds there; so the folders it reads are looked through first.

use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use tollgate::Scope;

use crate::{
    sandbox::Confined,
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

/// Says what may be read, by whom: asked for every call anew, because rules change and speak of callers.
#[derive(Clone)]
pub struct Guard {
    says: Arc<Says>,
    denies: Arc<dyn Fn() -> bool + Send + Sync>,
    own: Arc<[PathBuf]>,
}

type Says = dyn Fn(&Scope, &Path) -> Reading + Send + Sync;

/// More entries than a command waits for.
const MOST: usize = 1_000_000;

impl Guard {
    /// With these rules. Where no rule `denies` reading, commands that do more than read are not looked after: somebody
    /// has said yes to them.
    pub fn new(
        denies: impl Fn() -> bool + Send + Sync + 'static,
        says: impl Fn(&Scope, &Path) -> Reading + Send + Sync + 'static,
    ) -> Self {
        Self { says: Arc::new(says), denies: Arc::new(denies), own: Arc::default() }
    }

    /// What the rules say of reading this file, in a call of this scope.
    pub fn says(&self, scope: &Scope, path: &Path) -> Reading {
        (self.says)(scope, path)
    }

    /// The same, and these folders of ours are kept from every command, whether they exist yet or not.
    #[must_use]
    pub fn with_own(mut self, own: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own = own.into_iter().collect();
        self
    }

    /// Folders of ours that lie in these roots.
    pub(super) fn own_in(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let inside = |place: &&PathBuf| roots.iter().any(|root| place.starts_with(root));
        self.own.iter().filter(inside).cloned().collect()
    }

    /// Everything may be read.
    pub fn open() -> Self {
        Self::new(|| false, |_, _| Reading::Allowed)
    }

    /// True where there is nothing to look through.
    pub(super) fn is_quick(&self, analysis: &Analysis, confined: Confined) -> bool {
        match confined {
            Confined::Writing => !(self.denies)(),
            Confined::Reading => {
                let more = |leaf: &Leaf| reads_its_folder(leaf) || reads_anywhere(leaf);
                analysis.reads.is_empty() && !analysis.leaves.iter().any(more)
            }
        }
    }

    /// What is to be hidden from a command, each file or folder as it really is.
    pub(super) fn hidden(
        &self,
        analysis: &Analysis,
        confined: Confined,
        folder: &Path,
        scope: &Scope,
        home: Option<&Path>,
    ) -> io::Result<Vec<PathBuf>> {
        if confined == Confined::Writing {
            return self.denied(scope);
        }
        let roots = scope.roots();
        let named: Vec<PathBuf> = analysis.reads.iter().map(|read| from(read, folder, home)).collect();
        let mut starts: BTreeSet<PathBuf> = named.iter().filter_map(|path| start(path)).collect();
        if analysis.leaves.iter().any(reads_its_folder) {
            starts.extend(folder.canonicalize());
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

    /// Everything in the roots that a rule denies.
    fn denied(&self, scope: &Scope) -> io::Result<Vec<PathBuf>> {
        let mut look =
            Look::new(self, Reading::Denied, scope).keeping(scope.roots().iter().cloned().collect());
        if (self.denies)() {
            scope.roots().iter().try_for_each(|root| look.through(root).map(drop))?;
        }
        Ok(look.found())
    }
}

impl Guard {
    /// Everything in the roots that no command may have.
    pub(super) fn forbidden(&self, scope: &Scope) -> io::Result<Vec<PathBuf>> {
        let mut all = self.own_in(scope.roots());
        all.extend(self.denied(scope)?);
        Ok(all)
    }
}

/// A way through folders, and through the links in them as far as those stay in the roots.
struct Look<'a> {
    guard: &'a Guard,
    scope: &'a Scope,
    least: Reading,
    left: usize,
    /// Folders of which only what is denied is hidden.
    asked: Vec<PathBuf>,
    /// Folders that are never hidden in the place of what is in them.
    kept: BTreeSet<PathBuf>,
    seen: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
}

impl<'a> Look<'a> {
    fn new(guard: &'a Guard, least: Reading, scope: &'a Scope) -> Self {
        let (asked, kept, seen, hidden) = Default::default();
        Self { guard, scope, least, left: MOST, asked, kept, seen, hidden }
    }

    fn keeping(mut self, kept: BTreeSet<PathBuf>) -> Self {
        self.kept = kept;
        self
    }

    /// True for a file that is hidden.
    fn hides(&self, path: &Path) -> bool {
        let asked = self.asked.iter().any(|folder| path.starts_with(folder));
        self.guard.says(self.scope, path) >= if asked { Reading::Denied } else { self.least }
    }

    /// True where everything in the folder is hidden. Then the folder is, in the place of all that.
    fn through(&mut self, folder: &Path) -> io::Result<bool> {
        if !self.seen.insert(folder.to_owned()) {
            return Ok(false);
        }
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            // What we cannot look into, or is gone, the command cannot read either.
            Err(error) if is_closed(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let (mut all, mut below) = (!self.kept.contains(folder), Vec::new());
        for entry in entries {
            let Ok(entry) = entry else { continue };
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                io::Error::other(format!("{} holds too many files to look through", folder.display()))
            })?;
            let (path, kind) = (entry.path(), entry.file_type());
            let hides = match kind {
                Ok(kind) if kind.is_dir() => self.through(&path)?,
                Ok(kind) if kind.is_symlink() => self.behind(&path)?,
                _ => self.hides(&path),
            };
            if hides {
                below.push(path);
            } else {
                all = false;
            }
        }
        let all = all && !below.is_empty();
        if all {
            self.hidden.retain(|path| !path.starts_with(folder));
            self.hidden.insert(folder.to_owned());
        } else {
            self.hidden.extend(below);
        }
        Ok(all)
    }

    /// What is hidden, nothing of it twice: a link may lead into a folder that is hidden as a whole.
    fn found(self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for path in self.hidden {
            // In this order a folder stands right before what is in it.
            if !found.last().is_some_and(|above| path.starts_with(above)) {
                found.push(path);
            }
        }
        found
    }

    /// A link is never hidden itself: what it leads to is, as it really is.
    fn behind(&mut self, link: &Path) -> io::Result<bool> {
        // One that leads nowhere, or round in a circle, opens nothing.
        let Ok(real) = link.canonicalize() else { return Ok(false) };
        if !self.scope.roots().iter().any(|root| real.starts_with(root)) {
            return Ok(false);
        }
        if real.is_dir() {
            if self.through(&real)? {
                self.hidden.insert(real);
            }
        } else if self.hides(&real) {
            self.hidden.insert(real);
        }
        Ok(false)
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// A program that reads the folder it runs in without being told to.
fn reads_its_folder(leaf: &Leaf) -> bool {
    let Some((program, words)) = leaf.words.split_first() else { return true };
    let program = program.rsplit('/').next().unwrap_or_default();
    let recursive = |word: &String| match word.strip_prefix("--") {
        Some(long) => long.contains("recursive") || long.starts_with("directories"),
        None => word.starts_with('-') && word.contains(['r', 'R', 'd']),
    };
    match program {
        "rg" | "ag" | "ack" => true,
        "grep" | "egrep" | "fgrep" => words.iter().any(recursive),
        "git" => words.iter().any(|word| word == "grep" || word == "diff"),
        _ => false,
    }
}

/// A program that reads files which a file or a script names.
fn reads_anywhere(leaf: &Leaf) -> bool {
    let Some((program, words)) = leaf.words.split_first() else { return true };
    let program = program.rsplit('/').next().unwrap_or_default();
    let checks = |word: &String| {
        word.starts_with("--c") || (word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
    };
    let imports = |word: &String| {
        let from_file = word.starts_with("--f") || (word.starts_with('-') && word.contains('f'));
        from_file || word.contains("import") || word.contains("include")
    };
    match program {
        "jq" => words.iter().any(imports),
        "cksum" => words.iter().any(checks),
        _ => program.ends_with("sum") && words.iter().any(checks),
    }
}

fn from(read: &str, folder: &Path, home: Option<&Path>) -> PathBuf {
    match (read.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => folder.join(read),
    }
}

/// The path without `.` and `..`, as it is written.
fn lexical(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain.is_absolute().then_some(plain)
}

/// Where reading a path begins, as it really is: the path itself, or the folder before the first part that bash would
/// match against names.
fn start(path: &Path) -> Option<PathBuf> {
    path.components().take_while(is_plain).collect::<PathBuf>().canonicalize().ok()
}

/// True where a pattern leads up again, and so to anywhere.
fn climbs(path: &Path) -> bool {
    path.components().skip_while(is_plain).any(|part| part == Component::ParentDir)
}

fn is_plain(part: &Component<'_>) -> bool {
    !part.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[{(".contains(byte))
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
