//! One gate per workspace: reads share it, a write or anything unsafe has it alone.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use crate::{policy::lexical_path, tool::Concurrency};

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

    /// A workspace with the roots given. Folders are taken from where the program is now, and stay what they are when it
    /// goes elsewhere; one of which that cannot be said is no root.
    pub fn with_roots(cwd: impl Into<PathBuf>, roots: Vec<PathBuf>) -> Self {
        let cwd = cwd.into();
        let roots = roots.into_iter().filter_map(whole).collect();
        let cwd = whole(cwd.clone()).unwrap_or(cwd);
        Self { inner: Arc::new(Inner { cwd, roots, gate: Gate::default() }) }
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
    pub(crate) fn enter_now(&self, class: Concurrency) -> Option<Place> {
        (class == Concurrency::ReadOnly && self.inner.gate.share_now()).then_some(Place::Shared)
    }

    /// Waits for a place. First come, first served, so neither reads nor writes are starved.
    pub(crate) async fn enter(&self, class: Concurrency) -> Place {
        if let Some(place) = self.enter_now(class) {
            return place;
        }
        let gate = &self.inner.gate;
        let queue = gate.queue.clone().lock_owned().await;
        if class == Concurrency::ReadOnly {
            // Whoever holds the queue knows that no writer is inside.
            gate.state.fetch_add(1, Ordering::Acquire);
            return Place::Shared;
        }
        gate.state.fetch_or(WRITER, Ordering::AcqRel);
        // From here on a drop undoes it, also while we still wait for the readers to leave.
        let slot = self.slot(Place::Alone { queue: Box::new(queue) });
        while gate.state.load(Ordering::Acquire) != WRITER {
            gate.left.notified().await;
        }
        slot.into_place()
    }

    /// The place, so that it is left when whoever has it ends.
    pub(crate) fn slot(&self, place: Place) -> Slot {
        Slot { workspace: self.clone(), place: Some(place) }
    }

    /// Makes room for others.
    pub(crate) fn leave(&self, place: Place) {
        let gate = &self.inner.gate;
        match place {
            Place::Nowhere => {}
            Place::Alone { queue } => {
                gate.state.fetch_and(!WRITER, Ordering::AcqRel);
                drop(queue);
            }
            Place::Shared => {
                if gate.state.fetch_sub(1, Ordering::AcqRel) == WRITER + 1 {
                    gate.last_reader_left();
                }
            }
        }
    }
}

/// The folder from the top on, without `.` and `..`. An empty name is the current one, and not the beginning of every path.
fn whole(folder: PathBuf) -> Option<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    lexical_path(Path::new("/"), &std::path::absolute(folder).ok()?)
}

/// A place in a workspace. It is held until it is left: by a call's own end, or by its [`Slot`].
#[derive(Debug)]
#[must_use = "a place that nobody leaves is taken for ever"]
pub(crate) enum Place {
    /// What a body has that conducts calls of its own: those take the places.
    Nowhere,
    Shared,
    // The queue stays locked for as long as the place is held.
    Alone {
        queue: Box<OwnedMutexGuard<()>>,
    },
}

/// A place that goes with a task, and is left when that ends.
#[derive(Debug)]
pub(crate) struct Slot {
    workspace: Workspace,
    place: Option<Place>,
}

impl Slot {
    /// The place, for somebody else to leave.
    pub(crate) fn into_place(mut self) -> Place {
        self.place.take().unwrap_or(Place::Nowhere)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.workspace.leave(place);
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
    #[cold]
    fn last_reader_left(&self) {
        self.left.notify_one();
    }

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
