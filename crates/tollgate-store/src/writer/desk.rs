//! What the writer and everyone who hands it something have in common.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU32, Ordering},
};

use tokio::sync::Notify;

use super::Queue;
use crate::{breakers::Shelf, record};

/// What the writer and the handles of a store share.
pub(crate) struct Desk {
    pub(crate) queue: Arc<Queue>,
    /// Some call ended: whoever waits for its key looks again.
    pub(crate) ended: Notify,
    pub(super) owner: AtomicI64,
    next: AtomicU32,
    /// Calls that were noted and have no end yet.
    pub(super) open: AtomicI64,
    /// Records that could not be written and were given up.
    pub(crate) lost: AtomicI64,
    /// How breakers stand.
    pub(crate) shelf: Shelf,
}

impl Desk {
    pub(crate) fn new(owner: i64) -> Self {
        Self {
            queue: Queue::shared(),
            ended: Notify::new(),
            owner: AtomicI64::new(owner),
            next: AtomicU32::new(0),
            open: AtomicI64::new(0),
            lost: AtomicI64::new(0),
            shelf: Shelf::default(),
        }
    }

    /// The number this process goes by.
    pub(crate) fn owner(&self) -> i64 {
        self.owner.load(Ordering::Acquire)
    }

    /// A number no other call has.
    pub(crate) fn number(&self) -> i64 {
        self.open.fetch_add(1, Ordering::Relaxed);
        record::id_of(self.owner(), self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The call of a number that was just given could not be noted.
    pub(crate) fn withdraw(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}
