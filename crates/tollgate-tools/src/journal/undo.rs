//! Taking changes back: only what the tools wrote and nobody changed since, newest first.

use std::io;

use tollgate::{Scope, outcome::Evidence};

use super::{Entry, Journal};
use crate::{
    beneath::{Astray, Held, Trouble, resolve},
    blocking::Stop,
    files::{diff, replace},
};

/// What taking one change back would do, or did.
#[derive(Debug)]
pub struct Step {
    /// The change.
    pub entry: Entry,
    /// What becomes of it.
    pub done: Done,
    /// The difference it makes, as a unified diff.
    pub diff: String,
}

/// What becomes of a change that is to be taken back.
#[derive(Debug)]
pub enum Done {
    /// The file gets its former content.
    Restored,
    /// The file did not exist before, and is removed.
    Removed,
    /// The file already is as it was before.
    NothingToDo,
    /// Something else changed the file since; it is left alone.
    ChangedSince,
    /// It cannot be done; it is left alone.
    Failed(String),
}

impl Done {
    /// True where the file is, or would be, as before the change.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Restored | Self::Removed | Self::NothingToDo)
    }
}

/// Whether anything happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// Only says what would.
    Preview,
    /// Does it.
    Restore,
}

impl Journal {
    /// Takes back the last `count` changes of files inside the roots of `scope`; of these `paths` where any are given.
    pub fn undo(&self, scope: &Scope, paths: &[String], count: usize, how: Undo) -> io::Result<Vec<Step>> {
        let only: Vec<_> =
            paths.iter().filter_map(|path| resolve(scope, path).ok()).map(|p| p.path()).collect();
        let mut steps: Vec<Step> = Vec::new();
        // Content that earlier steps of a preview would have restored, so that the next one is judged on top of it.
        let mut foreseen: std::collections::HashMap<_, Option<String>> = std::collections::HashMap::new();
        for entry in self.open_entries()?.into_iter().rev() {
            if steps.len() >= count {
                break;
            }
            let path = entry.change.path();
            let Some(held) = held(scope, &entry) else { continue };
            if !paths.is_empty() && !only.contains(&path) {
                continue;
            }
            let step = self.step(entry, &held, how, foreseen.get(&path));
            if step.done.is_good() {
                foreseen.insert(path, step.entry.change.before.clone());
            }
            steps.push(step);
        }
        Ok(steps)
    }

    fn step(&self, entry: Entry, held: &Held, how: Undo, foreseen: Option<&Option<String>>) -> Step {
        match self.take_back(&entry, held, how, foreseen) {
            Ok((done, diff)) => Step { entry, done, diff },
            Err(error) => Step { entry, done: Done::Failed(error.to_string()), diff: String::new() },
        }
    }

    fn take_back(
        &self,
        entry: &Entry,
        held: &Held,
        how: Undo,
        foreseen: Option<&Option<String>>,
    ) -> Result<(Done, String), replace::NotDone> {
        let change = &entry.change;
        let stop = Stop::default();
        let standing = replace::lock(held, &stop)?;
        let now = match foreseen {
            Some(hash) if how == Undo::Preview => hash.clone(),
            _ => standing.now.as_ref().map(|now| now.hash.clone()),
        };
        let bytes = |hash: &Option<String>| match hash {
            Some(hash) => match &standing.now {
                Some(now) if now.hash == *hash => Ok(now.bytes.clone()),
                _ => self.kept(hash),
            },
            None => Ok(Vec::new()),
        };
        if now == change.before {
            if how == Undo::Restore {
                self.close(entry)?;
            }
            return Ok((Done::NothingToDo, String::new()));
        }
        if now != change.after {
            return Ok((Done::ChangedSince, String::new()));
        }
        let before = bytes(&change.before)?;
        let shown = diff::unified(&change.rel, &bytes(&now).unwrap_or_default(), &before).text;
        let done = if change.before.is_some() { Done::Restored } else { Done::Removed };
        if how == Undo::Preview {
            return Ok((done, shown));
        }
        if change.before.is_some() {
            let ready = replace::prepare(held, &standing, &before, change.mode)?;
            debug_assert_eq!(Some(Evidence::of(&before).as_str()), change.before.as_deref());
            ready.commit(&standing, &before, &stop)?;
        } else {
            replace::remove(held, &standing)?;
            for folder in change.made.iter().rev() {
                // One that holds something else by now stays.
                let _ = replace::remove_folder(held, folder);
            }
        }
        self.close(entry)?;
        Ok((done, shown))
    }
}

/// The place of a change, where it lies inside the roots and still is what its path says.
fn held(scope: &Scope, entry: &Entry) -> Option<Held> {
    let path = entry.change.path();
    let place = path.to_str().map(|path| resolve(scope, path))?;
    let place: Result<_, Astray> = place;
    let place = place.ok().filter(|place| place.path() == path)?;
    let held: Result<_, Trouble> = Held::of(place);
    held.ok()
}
