//! One gate per workspace: reads share it, a write or anything unsafe has it alone.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

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
    gate: Gate,
}

impl Workspace {
    /// A workspace at `cwd` that is its own only root.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self::with_roots(cwd.clone(), vec![cwd])
    }

    /// A workspace with the roots given.
    pub fn with_roots(cwd: impl Into<PathBuf>, roots: Vec<PathBuf>) -> Self {
        Self { inner: Arc::new(Inner { cwd: cwd.into(), roots, gate: Gate::default() }) }
    }

    /// The folder relative paths start from.
    pub fn cwd(&self) -> &Path {
        &self.inner.cwd
    }

    /// The folders a call may touch.
    pub fn roots(&self) -> &[PathBuf] {
        &self.inner.roots
    }

    /// A place for a read, where one is free at once.
    pub(crate) fn enter_now(&self, class: Concurrency) -> Option<Slot<'_>> {
        (class == Concurrency::ReadOnly && self.inner.gate.share_now())
            .then(|| Slot { workspace: Cow::Borrowed(self), held: Held::Shared })
    }

    /// What a body gets that conducts calls of its own: those take the places.
    pub(crate) fn pass_by(&self) -> Slot<'_> {
        Slot { workspace: Cow::Borrowed(self), held: Held::Nothing }
    }

    /// Waits for a place. First come, first served, so neither reads nor writes are starved.
    pub(crate) async fn enter(&self, class: Concurrency) -> Slot<'_> {
        if let Some(slot) = self.enter_now(class) {
            return slot;
        }
        let gate = &self.inner.gate;
        let queue = gate.queue.clone().lock_owned().await;
        if class == Concurrency::ReadOnly {
            // Whoever holds the queue knows that no writer is inside.
            gate.state.fetch_add(1, Ordering::Acquire);
            return Slot { workspace: Cow::Borrowed(self), held: Held::Shared };
        }
        gate.state.fetch_or(WRITER, Ordering::AcqRel);
        // From here on a drop undoes it, also while we still wait for the readers to leave.
        let slot = Slot { workspace: Cow::Borrowed(self), held: Held::Alone { _queue: queue } };
        while gate.state.load(Ordering::Acquire) != WRITER {
            gate.left.notified().await;
        }
        slot
    }
}

/// A place in the workspace, held for as long as the body runs.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    workspace: Cow<'a, Workspace>,
    held: Held,
}

impl Slot<'_> {
    /// The same place, for a body that outlives whoever took it.
    pub(crate) fn owned(mut self) -> Slot<'static> {
        let held = std::mem::replace(&mut self.held, Held::Nothing);
        Slot { workspace: Cow::Owned(self.workspace.clone().into_owned()), held }
    }
}

#[derive(Debug)]
enum Held {
    /// No place: the body takes none itself.
    Nothing,
    Shared,
    // The queue stays locked for as long as the place is held.
    Alone {
        _queue: OwnedMutexGuard<()>,
    },
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let gate = &self.workspace.inner.gate;
        match self.held {
            Held::Nothing => {}
            Held::Alone { .. } => drop(gate.state.fetch_and(!WRITER, Ordering::AcqRel)),
            Held::Shared => {
                if gate.state.fetch_sub(1, Ordering::AcqRel) == WRITER + 1 {
                    gate.left.notify_one();
                }
            }
        }
    }
}

/// Readers are a count, so that sharing costs one atomic step; writers, and whoever meets one, stand in a queue.
#[derive(Debug, Default)]
struct Gate {
    state: AtomicUsize,
    queue: Arc<Mutex<()>>,
    left: Notify,
}

/// Set while a writer is inside or waits for the readers to leave.
const WRITER: usize = 1 << (usize::BITS - 1);

impl Gate {
    fn share_now(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & WRITER == 0 {
            match self.state.compare_exchange_weak(state, state + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }
}
