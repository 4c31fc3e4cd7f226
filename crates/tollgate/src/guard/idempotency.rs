//! A call takes effect at most once under its key: replayed, refused, waited for, or unknown.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::{
    json::canonical,
    outcome::{Settled, Status},
    tool::{Caller, IdempotencyKey, ToolSpec},
};

/// Where starts and ends of calls are recorded.
///
/// `start` is durable when it returns: nothing with an effect begins before. A fault in it stops the call;
/// a fault in `settle` is reported, and the call's answer stands.
pub trait Ledger: Send + Sync + 'static {
    /// Claims the key, waiting while another holder of it is still running.
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>>;

    /// Writes the one terminal record of a call.
    fn settle<'a>(
        &'a self,
        fence: Option<Fence>,
        settled: &'a Settled,
    ) -> BoxFuture<'a, Result<(), LedgerFault>>;

    /// The holder of the claim went away without an end: from now on its effect is unknown.
    fn abandon(&self, fence: Fence);

    /// True when calls without a claim (reads, refusals) are recorded too.
    fn records_all(&self) -> bool {
        true
    }
}

/// What is claimed.
#[derive(Debug, Clone)]
pub struct Start {
    /// Keys are scoped by who calls.
    pub caller: Caller,
    /// The key.
    pub key: IdempotencyKey,
    /// What tool and arguments it stands for.
    pub fingerprint: Fingerprint,
}

/// The answer to a claim.
#[derive(Debug)]
pub enum Claim {
    /// Go ahead: nobody else holds this key.
    Granted(Fence),
    /// It ran before; this was the answer.
    Replay(Settled),
    /// The key stands for other arguments.
    Conflict,
    /// It started before and nobody knows how it ended.
    Unfinished,
}

/// Proof of a claim; a later claim of the same key has a higher number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence(pub u64);

/// A hash of tool definition and arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// The store behind a ledger failed.
#[derive(Debug, thiserror::Error)]
#[error("the ledger failed: {0}")]
pub struct LedgerFault(#[source] pub Box<dyn std::error::Error + Send + Sync>);

impl Fingerprint {
    /// The fingerprint of a call.
    pub fn of(spec: &ToolSpec, args: &Value) -> Self {
        let mut hash = Sha256::new();
        for part in [spec.id.to_string().as_str(), &canonical(&spec.input_schema), &canonical(args)] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::outcome::hex(&self.0[..8]))
    }
}

/// Keys of this process, the latest `capacity` of them. Forgets everything when it ends.
#[derive(Debug)]
pub struct MemoryLedger {
    capacity: usize,
    book: Mutex<Book>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Book {
    next: u64,
    entries: HashMap<(Caller, IdempotencyKey), Entry>,
    fences: HashMap<Fence, (Caller, IdempotencyKey)>,
    order: VecDeque<(Caller, IdempotencyKey)>,
}

#[derive(Debug)]
struct Entry {
    fingerprint: Fingerprint,
    state: State,
}

#[derive(Debug)]
enum State {
    Running,
    Ended(Settled),
    Unknown,
}

impl MemoryLedger {
    /// Remembers the latest `capacity` keys.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, book: Mutex::default(), ended: Notify::new() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while the key is held by a running call.
    fn try_claim(&self, start: &Start) -> Option<Claim> {
        let mut book = self.lock();
        let key = (start.caller.clone(), start.key.clone());
        match book.entries.get(&key) {
            Some(entry) if entry.fingerprint != start.fingerprint => Some(Claim::Conflict),
            Some(Entry { state: State::Running, .. }) => None,
            Some(Entry { state: State::Unknown, .. }) => Some(Claim::Unfinished),
            Some(Entry { state: State::Ended(settled), .. }) => Some(Claim::Replay(settled.clone())),
            None => {
                let fence = book.insert(key, start.fingerprint);
                book.forget_beyond(self.capacity);
                Some(Claim::Granted(fence))
            }
        }
    }
}

impl Book {
    fn insert(&mut self, key: (Caller, IdempotencyKey), fingerprint: Fingerprint) -> Fence {
        self.next += 1;
        let fence = Fence(self.next);
        self.fences.insert(fence, key.clone());
        self.order.push_back(key.clone());
        self.entries.insert(key, Entry { fingerprint, state: State::Running });
        fence
    }

    fn end(&mut self, key: &(Caller, IdempotencyKey), state: State) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.state = state;
        }
    }

    fn forget(&mut self, key: &(Caller, IdempotencyKey)) {
        self.entries.remove(key);
        // Nearly always the youngest, so the search is short.
        if let Some(at) = self.order.iter().rposition(|other| other == key) {
            self.order.remove(at);
        }
    }

    /// Forgets the oldest ended keys. One that still runs is passed over and stays.
    fn forget_beyond(&mut self, capacity: usize) {
        for _ in 0..self.order.len().saturating_sub(capacity) {
            let Some(key) = self.order.pop_front() else { return };
            match self.entries.get(&key) {
                Some(Entry { state: State::Running, .. }) => self.order.push_back(key),
                Some(_) => drop(self.entries.remove(&key)),
                None => {}
            }
        }
    }
}

impl Ledger for MemoryLedger {
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        Box::pin(async move {
            loop {
                let ended = self.ended.notified();
                tokio::pin!(ended);
                // Listening before looking: an end between the two is not missed.
                ended.as_mut().enable();
                if let Some(claim) = self.try_claim(&start) {
                    return Ok(claim);
                }
                ended.await;
            }
        })
    }

    fn settle<'a>(
        &'a self,
        fence: Option<Fence>,
        settled: &'a Settled,
    ) -> BoxFuture<'a, Result<(), LedgerFault>> {
        if let Some(fence) = fence {
            let mut book = self.lock();
            if let Some(key) = book.fences.remove(&fence) {
                match settled.status() {
                    // No effect happened, so the key is free again.
                    Status::RetryableError | Status::Refused => book.forget(&key),
                    Status::Unknown => book.end(&key, State::Unknown),
                    Status::Ok | Status::FatalError => book.end(&key, State::Ended(settled.clone())),
                }
            }
            drop(book);
            self.ended.notify_waiters();
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn abandon(&self, fence: Fence) {
        let mut book = self.lock();
        if let Some(key) = book.fences.remove(&fence) {
            book.end(&key, State::Unknown);
        }
        drop(book);
        self.ended.notify_waiters();
    }

    fn records_all(&self) -> bool {
        false
    }
}
