//! A store that is opened when the first call needs it: a program that records nothing opens nothing.

use std::sync::{Arc, OnceLock};

use tollgate::{
    BoxFuture,
    guard::{CallRecord, Claim, End, Fence, Ledger, LedgerFault, Recalled, Start, Ticket, Written},
    tool::{Caller, IdempotencyKey, RunId},
};

use crate::{Place, Store, StoreError};

/// A ledger on a store that may not be open yet. What cannot be recorded because it does not open is a fault of the
/// ledger: no effect happens, and reads are told as unrecorded.
#[derive(Clone, Debug)]
pub struct LazyStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    place: Place,
    store: OnceLock<Result<Store, StoreError>>,
}

impl LazyStore {
    /// A store that will be opened in this place.
    pub fn new(place: Place) -> Self {
        Self { inner: Arc::new(Inner { place, store: OnceLock::new() }) }
    }

    /// Where it is, or will be.
    pub fn place(&self) -> &Place {
        &self.inner.place
    }

    /// The store, opened now where it was not.
    pub fn get(&self) -> Result<&Store, &StoreError> {
        self.inner.store.get_or_init(|| Store::open(self.inner.place.clone())).as_ref()
    }

    /// The store, or why it did not open; `None` while nobody needed it.
    pub fn opened(&self) -> Option<Result<&Store, &StoreError>> {
        self.inner.store.get().map(Result::as_ref)
    }

    pub(crate) fn ready(&self) -> Result<&Store, LedgerFault> {
        self.get().map_err(|error| LedgerFault(Box::new(error.again())))
    }
}

impl Ledger for LazyStore {
    fn propose(&self, call: &CallRecord<'_>) -> Option<Ticket> {
        self.get().ok()?.propose(call)
    }

    fn decide(&self, ticket: Ticket, run: &RunId, by: &str) {
        if let Ok(store) = self.get() {
            store.decide(ticket, run, by);
        }
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        match self.ready() {
            Ok(store) => store.start(start),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn recall<'a>(
        &'a self,
        caller: &'a Caller,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<Recalled>, LedgerFault>> {
        match self.ready() {
            Ok(store) => store.recall(caller, key),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn settle<'a>(&'a self, end: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        match self.ready() {
            Ok(store) => store.settle(end),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn abandon(&self, fence: Fence) {
        if let Ok(store) = self.get() {
            store.abandon(fence);
        }
    }
}
