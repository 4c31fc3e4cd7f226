//! What waits to be written: bounded, in order, many calls' records side by side.

use std::{
    any::Any,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{Notify, oneshot};
use tollgate::tool::RunId;

use super::parcel::{Back, Parcel};
use crate::{
    StoreError, Trouble,
    book::{Claimed, Ended, Ending, Tally, Tx, Wanted},
    db::Durability,
};

/// Bytes of records that may wait. Whoever adds beyond waits, too.
pub(crate) const ROOM: usize = 8 << 20;

/// One thing to write. Those with a reply are waited for.
pub(crate) enum Op {
    Propose { id: i64, run: String, caller: String, line: Vec<u8> },
    Lines { run: RunId, body: Vec<u8>, records: i64, tally: Tally },
    Claim { wanted: Wanted, reply: oneshot::Sender<Result<Parcel<Claimed>, StoreError>> },
    End { ending: Ending, reply: Option<oneshot::Sender<Result<Ended, StoreError>>> },
    Abandon { id: i64, ran: bool },
    Do { work: Work, sync: Durability, reply: Option<Reply> },
}

/// Where the answer to work goes, and what is done with one that nobody takes.
pub(crate) struct Reply {
    pub(crate) to: oneshot::Sender<Result<Parcel<Done>, StoreError>>,
    pub(crate) back: Option<Back<Done>>,
}

pub(crate) type Done = Box<dyn Any + Send>;
pub(crate) type Work = Box<dyn FnMut(&mut Tx<'_>) -> Result<Done, StoreError> + Send>;

/// The queue and those who wait at its ends.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    /// There is room again.
    room: Notify,
}

#[derive(Default)]
struct Waiting {
    ops: Vec<Op>,
    bytes: usize,
    /// Bytes that the writer has taken and not said anything of yet: they may come back.
    taken: usize,
    urgent: usize,
    closed: bool,
    /// While the writer sleeps: how many must wait for a commit before it is woken; 0 for any op at all. Waking it for
    /// less would cost more than what it writes.
    sleeps_for: Option<usize>,
    /// Why the last commit failed.
    broken: Option<Trouble>,
}

/// Ops taken for one commit.
pub(crate) struct Batch {
    pub(crate) ops: Vec<Op>,
    pub(crate) urgent: usize,
    pub(crate) closed: bool,
}

impl Op {
    fn is_urgent(&self) -> bool {
        matches!(
            self,
            Self::Claim { .. } | Self::End { reply: Some(_), .. } | Self::Do { reply: Some(_), .. }
        )
    }

    fn bytes(&self) -> usize {
        const OVERHEAD: usize = 128;
        OVERHEAD
            + match self {
                Self::Propose { line, .. } => line.len(),
                Self::Lines { body, .. } => body.len(),
                Self::Claim { wanted, .. } => wanted.line.len(),
                Self::End { ending, .. } => ending.line.len(),
                Self::Abandon { .. } | Self::Do { .. } => 0,
            }
    }
}

impl Waiting {
    /// True when so many bytes more are too many. While nothing can be written, what was taken counts too: it comes back.
    fn is_full(&self, more: usize) -> bool {
        let taken = if self.broken.is_some() { self.taken } else { 0 };
        self.bytes + taken + more > ROOM
    }
}

impl Queue {
    pub(crate) fn shared() -> Arc<Self> {
        Arc::default()
    }

    /// Adds an op, whatever the room: what is waited for, or ends what was granted, does not pile up.
    pub(crate) fn push(&self, op: Op) -> Result<(), StoreError> {
        self.add(op, self.lock())
    }

    /// Adds an op that nobody waits for. While nothing can be written such ops would pile up without end: beyond the room
    /// they are not taken, and whoever offers one is told so.
    pub(crate) fn offer(&self, op: Op) -> Result<(), StoreError> {
        let waiting = self.lock();
        match &waiting.broken {
            Some(trouble) if waiting.is_full(op.bytes()) => {
                Err(StoreError::Stuck { why: trouble.why.clone() })
            }
            _ => self.add(op, waiting),
        }
    }

    fn add(&self, op: Op, mut waiting: MutexGuard<'_, Waiting>) -> Result<(), StoreError> {
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        waiting.bytes += op.bytes();
        waiting.urgent += usize::from(op.is_urgent());
        waiting.ops.push(op);
        self.wake_if_wanted(waiting);
        Ok(())
    }

    /// Adds work that nobody waits for.
    pub(crate) fn hand_over(
        &self,
        mut work: impl FnMut(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
    ) {
        let work: Work = Box::new(move |tx| work(tx).map(|()| Box::new(()) as _));
        // Closed only when its process ends; where there is no room, it is what can be done without.
        let _ = self.offer(Op::Do { work, sync: Durability::Lazy, reply: None });
    }

    /// Adds records that nobody waits for. `false`: no room now.
    pub(crate) fn note(
        &self,
        run: &RunId,
        lines: &[u8],
        records: i64,
        tally: Tally,
    ) -> Result<bool, StoreError> {
        const OVERHEAD: usize = 128;
        /// A row of the journal should not be longer than a page of reading.
        const LONGEST: usize = 64 << 10;
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        if waiting.is_full(lines.len()) {
            return match &waiting.broken {
                Some(trouble) => Err(StoreError::Stuck { why: trouble.why.clone() }),
                None => Ok(false),
            };
        }
        waiting.bytes += lines.len();
        match waiting.ops.last_mut() {
            Some(Op::Lines { run: last, body, records: count, tally: sum })
                if last == run && body.len() < LONGEST =>
            {
                body.extend_from_slice(lines);
                *count += records;
                sum.add(tally);
            }
            _ => {
                let mut body = Vec::with_capacity(4 * lines.len());
                body.extend_from_slice(lines);
                waiting.bytes += OVERHEAD;
                waiting.ops.push(Op::Lines { run: run.clone(), body, records, tally });
            }
        }
        self.wake_if_wanted(waiting);
        Ok(true)
    }

    fn wake_if_wanted(&self, mut waiting: MutexGuard<'_, Waiting>) {
        let wanted = waiting.sleeps_for.is_some_and(|many| waiting.urgent >= many);
        if wanted {
            waiting.sleeps_for = None;
        }
        drop(waiting);
        if wanted {
            self.wake.notify_one();
        }
    }

    /// Resolves when there may be room.
    pub(crate) fn room(&self) -> tokio::sync::futures::Notified<'_> {
        self.room.notified()
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Puts back what could not be written and nobody waits for, before everything that came since.
    pub(crate) fn put_back(&self, mut ops: Vec<Op>, error: &StoreError) {
        let mut waiting = self.lock();
        waiting.taken = 0;
        waiting.bytes += ops.iter().map(Op::bytes).sum::<usize>();
        waiting.urgent += ops.iter().filter(|op| op.is_urgent()).count();
        ops.append(&mut waiting.ops);
        waiting.ops = ops;
        waiting.broken = Some(Trouble { why: error.to_string(), hint: error.hint() });
    }

    pub(crate) fn mend(&self) {
        let mut waiting = self.lock();
        (waiting.broken, waiting.taken) = (None, 0);
    }

    pub(crate) fn broken(&self) -> Option<Trouble> {
        self.lock().broken.clone()
    }

    /// Takes everything, once there is reason to write: somebody waits, much has come together, or it is `lazy`
    /// o'clock and there is anything. `None` when `until` is over.
    pub(crate) fn take(&self, until: Instant, lazy: Instant) -> Option<Batch> {
        /// So many bytes are worth a commit of their own.
        const MUCH: usize = 1 << 20;
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            let has_lazy = !waiting.ops.is_empty();
            let due = has_lazy && now >= lazy;
            if waiting.urgent > 0 || waiting.bytes > MUCH && waiting.broken.is_none() || due || waiting.closed
            {
                break;
            }
            if now >= until {
                return None;
            }
            // With something there already it sleeps until that is due, or somebody waits.
            let (next, many) = if has_lazy { (until.min(lazy), 1) } else { (until, 0) };
            waiting = self.sleep(waiting, many, next.saturating_duration_since(now));
        }
        waiting.taken = std::mem::take(&mut waiting.bytes);
        let urgent = std::mem::take(&mut waiting.urgent);
        let batch = Batch { ops: std::mem::take(&mut waiting.ops), urgent, closed: waiting.closed };
        drop(waiting);
        self.room.notify_waiters();
        Some(batch)
    }

    /// Waits a moment for as many as were there last time: they were answered together and will come together.
    pub(crate) fn linger(&self, many: usize, until: Instant) {
        let mut waiting = self.lock();
        while waiting.urgent < many && !waiting.closed {
            let now = Instant::now();
            if now >= until {
                return;
            }
            waiting = self.sleep(waiting, many, until.saturating_duration_since(now));
        }
    }

    fn sleep<'a>(
        &self,
        mut waiting: MutexGuard<'a, Waiting>,
        many: usize,
        most: Duration,
    ) -> MutexGuard<'a, Waiting> {
        waiting.sleeps_for = Some(many);
        let woken = self.wake.wait_timeout(waiting, most);
        let mut waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        waiting.sleeps_for = None;
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
