//! A call takes effect at most once under its key: replayed, refused, waited for, or unknown.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use super::ledger::{Claim, End, Fence, Fingerprint, Ledger, LedgerFault, Recalled, Start, Written};
use crate::{
    outcome::{Failure, Outcome, Settled, Status},
    tool::{Caller, IdempotencyKey},
};

/// Keys of this process, the latest `capacity` of them. Forgets everything when it ends.
///
/// Answers are held up to [`MemoryLedger::HELD_BYTES`] in all. Beyond, the oldest are let go while their keys stay: a
/// repeat is told that the call ran and how it ended, and never runs again for want of its answer.
#[derive(Debug)]
pub struct MemoryLedger {
    capacity: usize,
    most_bytes: usize,
    book: Mutex<Book>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Book {
    next: u64,
    entries: HashMap<(Caller, IdempotencyKey), Entry>,
    fences: HashMap<Fence, (Caller, IdempotencyKey)>,
    order: VecDeque<(Caller, IdempotencyKey)>,
    /// Keys whose answers are held whole, in the order they ended.
    held: BTreeMap<u64, (Caller, IdempotencyKey)>,
    held_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    fingerprint: Fingerprint,
    state: State,
}

#[derive(Debug)]
enum State {
    Running,
    Ended(Settled, Held),
    Unknown,
}

/// Where an answer that is held whole stands among the others, and what it takes.
#[derive(Debug, Clone, Copy)]
struct Held {
    since: u64,
    bytes: usize,
}

impl MemoryLedger {
    /// What answers may take where nothing else is said.
    pub const HELD_BYTES: usize = 64 << 20;

    /// Remembers the latest `capacity` keys.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, most_bytes: Self::HELD_BYTES, book: Mutex::default(), ended: Notify::new() }
    }

    /// The same, holding answers of so many bytes in all.
    #[must_use]
    pub fn holding(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
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
            Some(Entry { state: State::Ended(settled, _), .. }) => Some(Claim::Replay(settled.clone())),
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

    fn end_unknown(&mut self, key: &(Caller, IdempotencyKey)) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.state = State::Unknown;
        }
    }

    /// Holds the answer, and lets go of the oldest beyond what may be held.
    fn end(&mut self, key: (Caller, IdempotencyKey), settled: &Settled, most: usize) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        self.next += 1;
        let held = Held { since: self.next, bytes: settled.weight() };
        entry.state = State::Ended(settled.clone(), held);
        self.held_bytes += held.bytes;
        self.held.insert(held.since, key);
        while self.held_bytes > most
            && let Some((_, key)) = self.held.pop_first()
        {
            let Some(Entry { state: State::Ended(settled, held), .. }) = self.entries.get_mut(&key) else {
                continue;
            };
            self.held_bytes -= held.bytes;
            held.bytes = 0;
            let_go(settled);
        }
    }

    /// The entry is gone, and with it what it held.
    fn remove(&mut self, key: &(Caller, IdempotencyKey)) {
        if let Some(Entry { state: State::Ended(_, held), .. }) = self.entries.remove(key) {
            self.held.remove(&held.since);
            self.held_bytes -= held.bytes;
        }
    }

    fn forget(&mut self, key: &(Caller, IdempotencyKey)) {
        self.remove(key);
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
                Some(_) => self.remove(&key),
                None => {}
            }
        }
    }
}

/// Leaves of an answer that the call ran, how it ended, and where the whole was put aside if it was.
fn let_go(settled: &mut Settled) {
    let ended = if settled.status() == Status::Ok { "and went well" } else { "and failed" };
    let words = format!("This call ran before under the same key {ended}; its answer is no longer held.");
    let failure = Failure::fatal(words)
        .with_hint("Do not run it again: look up what it did, or read what it left behind.");
    settled.outcome = Outcome::Failed(failure);
    settled.context = Vec::new();
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

    fn recall<'a>(
        &'a self,
        caller: &'a Caller,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<Recalled>, LedgerFault>> {
        let book = self.lock();
        let recalled = match book.entries.get(&(caller.clone(), key.clone())).map(|entry| &entry.state) {
            Some(State::Ended(settled, _)) => Some(Recalled::Ended(settled.clone())),
            Some(State::Unknown) => Some(Recalled::Unfinished),
            Some(State::Running) | None => None,
        };
        Box::pin(std::future::ready(Ok(recalled)))
    }

    fn settle<'a>(&'a self, end: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        let settled = end.settled;
        if let Some(fence) = end.fence {
            let mut book = self.lock();
            if let Some(key) = book.fences.remove(&fence) {
                match settled.status() {
                    // No effect happened, so the key is free again.
                    Status::RetryableError | Status::Refused => book.forget(&key),
                    Status::Unknown => book.end_unknown(&key),
                    Status::Ok | Status::FatalError => book.end(key, settled, self.most_bytes),
                }
            }
            drop(book);
            self.ended.notify_waiters();
        }
        Box::pin(std::future::ready(Ok(Written::Recorded)))
    }

    fn abandon(&self, fence: Fence) {
        let mut book = self.lock();
        if let Some(key) = book.fences.remove(&fence) {
            book.end_unknown(&key);
        }
        drop(book);
        self.ended.notify_waiters();
    }

    fn records_all(&self) -> bool {
        false
    }
}
