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

/// Says what may be read.
#[derive(Clone)]
pub struct Guard {
    says: Arc<dyn Fn(&Path) -> Reading + Send + Sync>,
    denies: bool,
    own: Arc<[PathBuf]>,
}

/// More entries than a command waits for.
const MOST: usize = 1_000_000;

impl Guard {
    /// With these rules. Where no rule `denies` reading, commands that do more than read are not looked after: somebody
    /// has said yes to them.
    pub fn new(denies: bool, says: impl Fn(&Path) -> Reading + Send + Sync + 'static) -> Self {
        Self { says: Arc::new(says), denies, own: Arc::default() }
    }

    /// What the rules say of reading this file.
    pub fn says(&self, path: &Path) -> Reading {
        (self.says)(path)
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
        Self::new(false, |_| Reading::Allowed)
    }

    /// True where there is nothing to look through.
    pub(super) fn is_quick(&self, analysis: &Analysis, confined: Confined) -> bool {
        match confined {
            Confined::Writing => !self.denies,
            Confined::Reading => analysis.reads.is_empty() && !analysis.leaves.iter().any(reads_its_folder),
        }
    }

    /// What is to be hidden from a command, each file or folder as it really is.
    pub(super) fn hidden(
        &self,
        analysis: &Analysis,
        confined: Confined,
        folder: &Path,
        roots: &[PathBuf],
        home: Option<&Path>,
    ) -> io::Result<Vec<PathBuf>> {
        let mut look = Look { guard: self, least: Reading::Asks, left: MOST, hidden: BTreeSet::new() };
        if confined == Confined::Writing {
            return if self.denies { self.denied(roots) } else { Ok(Vec::new()) };
        }
        let named: Vec<PathBuf> =
            analysis.reads.iter().filter_map(|read| lexical(&from(read, folder, home))).collect();
        let mut folders: BTreeSet<PathBuf> = named.iter().map(|path| before_pattern(path)).collect();
        if analysis.leaves.iter().any(reads_its_folder) {
            folders.insert(folder.to_owned());
        }
        for path in folders {
            let Ok(real) = path.canonicalize() else { continue };
            // Elsewhere nothing is opened to a command that a rule could close.
            if !roots.iter().any(|root| real.starts_with(root) || root.starts_with(&real)) {
                continue;
            }
            if real.is_dir() {
                look.through(&real)?;
            } else if (self.says)(&real) >= Reading::Asks {
                look.hidden.insert(real);
            }
        }
        // What was named by its own name was decided on.
        look.hidden.retain(|path| !named.contains(path));
        Ok(look.hidden.into_iter().collect())
    }

    /// Everything in the roots that a rule denies.
    fn denied(&self, roots: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let mut look = Look { guard: self, least: Reading::Denied, left: MOST, hidden: BTreeSet::new() };
        if self.denies {
            roots.iter().try_for_each(|root| look.through(root).map(drop))?;
        }
        Ok(look.hidden.into_iter().collect())
    }
}

impl Guard {
    /// Everything in the roots that no command may have.
    pub(super) fn forbidden(&self, roots: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let mut all = self.own_in(roots);
        all.extend(self.denied(roots)?);
        Ok(all)
    }
}

/// A way through folders.
struct Look<'a> {
    guard: &'a Guard,
    least: Reading,
    left: usize,
    hidden: BTreeSet<PathBuf>,
}

impl Look<'_> {
    /// True where everything in the folder is hidden. Then the folder is, in the place of all that.
    fn through(&mut self, folder: &Path) -> io::Result<bool> {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            // What we cannot look into, or is gone, the command cannot read either.
            Err(error) if is_closed(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        let (mut all, mut below) = (true, Vec::new());
        for entry in entries {
            let Ok(entry) = entry else { continue };
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                io::Error::other(format!("{} holds too many files to look through", folder.display()))
            })?;
            let (path, kind) = (entry.path(), entry.file_type());
            let hides = match kind {
                Ok(kind) if kind.is_dir() => self.through(&path)?,
                Ok(kind) if kind.is_symlink() => false,
                _ => (self.guard.says)(&path) >= self.least,
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

/// The path up to the first part that bash would match against names.
fn before_pattern(path: &Path) -> PathBuf {
    let plain = |part: &Component<'_>| {
        !part.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[{(".contains(byte))
    };
    path.components().take_while(plain).collect()
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("denies", &self.denies).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
