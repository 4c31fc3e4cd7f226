//! What one part of the program has found out about a tool, kept with the tool.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// A place for one thing about a tool, for whoever comes first: reading it takes no lock. A copy of a tool begins with
/// an empty one.
#[derive(Default)]
pub(crate) struct Memo(OnceLock<(Owner, Arc<dyn Any + Send + Sync>)>);

/// Whose memo it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    /// One that nobody was before.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for Owner {
    fn default() -> Self {
        Self::new()
    }
}

impl Memo {
    /// What this owner keeps here, made where the place is free; `None` where it is somebody else's.
    pub(crate) fn of<T: Any + Send + Sync>(&self, owner: Owner, make: impl FnOnce() -> Arc<T>) -> Option<&T> {
        let (whose, kept) = self.0.get_or_init(|| (owner, make()));
        if *whose == owner { kept.downcast_ref() } else { None }
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo(..)")
    }
}
