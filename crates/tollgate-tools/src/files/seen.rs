//! The content each run last saw of a file, by its hash: what a change is compared against.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tollgate::{
    Scope,
    tool::{Caller, RunId},
};

type Key = (RunId, Caller, PathBuf);

/// What was seen, by run and caller: one agent's reading says nothing about another's.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<HashMap<Key, String>>);

/// More files than a run looks at; past them the oldest knowledge is not worth its memory.
const MOST: usize = 100_000;

impl Seen {
    pub(crate) fn note(&self, scope: &Scope, path: &Path, hash: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST {
            seen.clear();
        }
        seen.insert(key(scope, path), hash.to_owned());
    }

    pub(crate) fn of(&self, scope: &Scope, path: &Path) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key(scope, path)).cloned()
    }
}

fn key(scope: &Scope, path: &Path) -> Key {
    (scope.run.id().clone(), scope.caller.clone(), path.to_owned())
}
