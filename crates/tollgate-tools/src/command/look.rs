//! A way through folders that nobody named the files of: what is found there and must not be read, or changed.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use tollgate::Scope;

use super::guard::{Guard, Reading};
use crate::sandbox;

/// More entries than a command waits for.
const MOST: usize = 1_000_000;

/// A way through folders, and through the links in them as far as those stay in the roots.
pub(super) struct Look<'a> {
    guard: &'a Guard,
    scope: &'a Scope,
    least: Reading,
    left: usize,
    /// Folders of which only what is denied is hidden.
    pub(super) asked: Vec<PathBuf>,
    /// Folders that are never hidden in the place of what is in them.
    kept: BTreeSet<PathBuf>,
    seen: BTreeSet<PathBuf>,
    pub(super) hidden: BTreeSet<PathBuf>,
}

impl<'a> Look<'a> {
    pub(super) fn new(guard: &'a Guard, least: Reading, scope: &'a Scope) -> Self {
        let (asked, kept, seen, hidden) = Default::default();
        Self { guard, scope, least, left: MOST, asked, kept, seen, hidden }
    }

    pub(super) fn keeping(mut self, kept: BTreeSet<PathBuf>) -> Self {
        self.kept = kept;
        self
    }

    /// True for a file that is hidden.
    pub(super) fn hides(&self, path: &Path) -> bool {
        let asked = self.asked.iter().any(|folder| path.starts_with(folder));
        self.guard.says(self.scope, path) >= if asked { Reading::Denied } else { self.least }
    }

    /// True where everything in the folder is hidden. Then the folder is, in the place of all that.
    pub(super) fn through(&mut self, folder: &Path) -> io::Result<bool> {
        if !self.seen.insert(folder.to_owned()) {
            return Ok(false);
        }
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            // What we cannot look into a command that changes things can open, if it is its own.
            Err(error) if is_closed(&error) => return Ok(self.least == Reading::Denied && folder.is_dir()),
            Err(error) => return Err(error),
        };
        let (mut all, mut below) = (!self.kept.contains(folder), Vec::new());
        for entry in entries {
            let Ok(entry) = entry else { continue };
            self.left = one_less(self.left, folder)?;
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
    pub(super) fn found(self) -> Vec<PathBuf> {
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
            self.outside(&real);
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

    /// Of what a link leads to outside the roots, a command can read what the system keeps there.
    fn outside(&mut self, real: &Path) {
        for place in sandbox::settings_at(real) {
            if self.hides(&place) {
                self.hidden.insert(place);
            }
        }
    }
}

/// Names that no rule was written for: one plain, one that is hidden, one deeper.
const ANY: [&str; 3] = ["tollgate~any", ".tollgate~any", "tollgate~any/tollgate~any"];

/// Everything in the roots that a rule denies changing. A folder in which any new name is denied stands for all in it.
///
/// A link stays as it is: what it leads to is closed where that is, if the rule means it by either name.
pub(super) fn closed(guard: &Guard, scope: &Scope) -> io::Result<Vec<PathBuf>> {
    let (mut left, mut found, mut folders) = (MOST, BTreeSet::new(), scope.roots().to_vec());
    while let Some(folder) = folders.pop() {
        if ANY.iter().all(|name| guard.closes(scope, &folder.join(name))) {
            found.insert(folder);
            continue;
        }
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if is_closed(&error) => {
                // It may be opened by who owns it.
                found.extend(folder.is_dir().then_some(folder));
                continue;
            }
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            left = one_less(left, &folder)?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_symlink() => found.extend(closed_behind(guard, scope, &entry.path())),
                _ if guard.closes(scope, &entry.path()) => drop(found.insert(entry.path())),
                _ => {}
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// What a link leads to inside the roots, where changing it by this name is denied.
fn closed_behind(guard: &Guard, scope: &Scope, link: &Path) -> Option<PathBuf> {
    let real = link.canonicalize().ok()?;
    let inside = scope.roots().iter().any(|root| real.starts_with(root) && real != *root);
    let closes = if real.is_dir() {
        ANY.iter().all(|name| guard.closes(scope, &link.join(name)))
    } else {
        guard.closes(scope, link)
    };
    (inside && closes).then_some(real)
}

fn one_less(left: usize, folder: &Path) -> io::Result<usize> {
    let many = || io::Error::other(format!("{} holds too many files to look through", folder.display()));
    left.checked_sub(1).ok_or_else(many)
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
