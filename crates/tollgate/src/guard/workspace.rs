//! One gate per workspace: reads share it, a write or anything unsafe has it alone.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::tool::Concurrency;

/// The folder work happens in, the roots calls may touch, and the gate they share.
///
/// Clones are the same workspace: hand clones to sub-agents and to other dispatchers of the same folder,
/// and a write of one excludes everything of the others.
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    gate: Arc<RwLock<()>>,
}

/// A place in the workspace, held for as long as the body runs.
#[derive(Debug)]
#[expect(dead_code, reason = "held, never read: dropping it frees the place")]
pub(crate) enum Slot {
    Shared(OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
}

impl Workspace {
    /// A workspace at `cwd` that is its own only root.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self::with_roots(cwd.clone(), vec![cwd])
    }

    /// A workspace with the roots given.
    pub fn with_roots(cwd: impl Into<PathBuf>, roots: Vec<PathBuf>) -> Self {
        Self { inner: Arc::new(Inner { cwd: cwd.into(), roots, gate: Arc::default() }) }
    }

    /// The folder relative paths start from.
    pub fn cwd(&self) -> &Path {
        &self.inner.cwd
    }

    /// The folders a call may touch.
    pub fn roots(&self) -> &[PathBuf] {
        &self.inner.roots
    }

    /// Waits for a place of the class. First come, first served, so a write is never starved by reads.
    pub(crate) async fn enter(&self, class: Concurrency) -> Slot {
        let gate = self.inner.gate.clone();
        match class {
            Concurrency::ReadOnly => match gate.clone().try_read_owned() {
                Ok(place) => Slot::Shared(place),
                Err(_) => Slot::Shared(gate.read_owned().await),
            },
            Concurrency::WriteExclusive | Concurrency::Unsafe => Slot::Alone(gate.write_owned().await),
        }
    }
}
