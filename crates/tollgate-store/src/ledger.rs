//! The core's ledger on a store: claims are waited for, ends of effects too, ends of reads are not.

use std::{cell::RefCell, time::Duration};

use tokio::sync::oneshot;
use tollgate::{
    BoxFuture, Settled,
    guard::{CallRecord, Claim, End, Fence, Ledger, LedgerFault, Recalled, Start, Ticket, Written},
    outcome::Status,
    tool::{Caller, IdempotencyKey, RunId},
};

use crate::{
    Store, StoreError,
    book::{self, Claimed, Ended, Ending, State, Tally, Wanted},
    clean, failpoint, record,
    writer::Op,
};

/// How long a duplicate waits before it looks again whether the first one, in another process, has ended.
const SOONEST: Duration = Duration::from_millis(5);
const LATEST: Duration = Duration::from_millis(200);

impl Ledger for Store {
    fn propose(&self, call: &CallRecord<'_>) -> Option<Ticket> {
        let id = self.inner.desk.number();
        let mut line = Vec::with_capacity(256);
        record::proposed(&mut line, id, call, &self.redactor);
        let run = clean(call.scope.run.id().as_str());
        let caller = clean(call.scope.caller.as_str());
        if self.inner.desk.queue.offer(Op::Propose { id, run, caller, line }).is_err() {
            self.inner.desk.withdraw();
            return None;
        }
        failpoint::hit("proposed");
        Some(Ticket(id.cast_unsigned()))
    }

    fn decide(&self, ticket: Ticket, run: &RunId, by: &str) {
        let id = ticket.0.cast_signed();
        let mut line = Vec::with_capacity(96);
        record::decided(&mut line, id, by, &self.redactor);
        // Where there is no room, the `started` or `settled` that follows tells it.
        let _ = self.inner.desk.queue.note(run, &line, 1, Tally::default());
        failpoint::hit("decided");
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        Box::pin(async move { self.claim(start).await.map_err(fault) })
    }

    fn recall<'a>(
        &'a self,
        caller: &'a Caller,
        key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<Recalled>, LedgerFault>> {
        Box::pin(async move {
            let (caller, key) = (clean(caller.as_str()), clean(key.as_str()));
            let me = self.inner.desk.owner();
            let stored = self.write(move |tx| book::recall(tx, me, (&caller, &key))).await.map_err(fault)?;
            let settled = stored.map(|stored| restore(&stored)).transpose().map_err(fault)?;
            Ok(settled.map(Recalled::Ended))
        })
    }

    fn settle<'a>(&'a self, end: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        match end.ticket {
            Some(ticket) => Box::pin(async move { self.end(ticket, end).await.map_err(fault) }),
            None => Box::pin(async move { self.note(end).await.map_err(fault) }),
        }
    }

    fn abandon(&self, fence: Fence) {
        // The store is closed only when its process ends, and then recovery says the same.
        let _ = self.inner.desk.queue.push(Op::Abandon { id: fence.0.cast_signed(), ran: true });
    }
}

impl Store {
    async fn claim(&self, start: Start) -> Result<Claim, StoreError> {
        let Some(ticket) = start.ticket else { return Err(StoreError::Closed) };
        let id = ticket.0.cast_signed();
        let mut line = Vec::with_capacity(64);
        record::started(&mut line, id);
        let (caller, key) = (clean(start.caller.as_str()), clean(start.key.as_str()));
        let own = self.inner.key()?;
        let wanted = Wanted {
            id,
            run: clean(start.run.as_str()),
            slot: own.slot(&caller, &key),
            caller,
            key,
            fingerprint: own.mac(b"fingerprint", &[start.fingerprint.as_bytes()]),
            line,
        };
        let mut wait = SOONEST;
        loop {
            let ended = self.inner.desk.ended.notified();
            tokio::pin!(ended);
            // Listening before looking: an end between the two is not missed.
            ended.as_mut().enable();
            failpoint::hit("before_start");
            let (reply, answer) = oneshot::channel();
            self.inner.desk.queue.push(Op::Claim { wanted: wanted.clone(), reply })?;
            let claimed = answer.await.map_err(|_| StoreError::Closed)??.take().ok_or(StoreError::Closed)?;
            let claim = match claimed {
                Claimed::Granted => Claim::Granted(Fence(ticket.0)),
                Claimed::Replay(stored) => Claim::Replay(restore(&stored)?),
                Claimed::Conflict => Claim::Conflict,
                Claimed::Unfinished => Claim::Unfinished,
                Claimed::Busy => {
                    let _ = tokio::time::timeout(wait, ended).await;
                    wait = (wait * 2).min(LATEST);
                    continue;
                }
            };
            failpoint::hit("started");
            return Ok(claim);
        }
    }

    /// The end of a call that was noted: durable when it returns.
    async fn end(&self, ticket: Ticket, end: End<'_>) -> Result<Written, StoreError> {
        let id = ticket.0.cast_signed();
        failpoint::hit("before_settle");
        let status = end.settled.status();
        let mut line = Vec::with_capacity(256);
        record::settled(&mut line, id, &end, &self.redactor)
            .map_err(|error| StoreError::Database(error.to_string()))?;
        let state = match (end.fence, status) {
            (None, _) | (_, Status::RetryableError | Status::Refused) => State::Released,
            (_, Status::Unknown) => State::Unknown,
            (_, Status::Ok | Status::FatalError) => State::Ended,
        };
        let run = clean(end.call.scope.run.id().as_str());
        let ending = Ending { id, run, state, line, tally: record::tally(status) };
        let (reply, answer) = oneshot::channel();
        // What never held a claim has no effect to lose: nobody waits for its record.
        if end.fence.is_none() {
            self.inner.desk.queue.offer(Op::End { ending, reply: Some(reply) })?;
            return Ok(Written::Recorded);
        }
        self.inner.desk.queue.push(Op::End { ending, reply: Some(reply) })?;
        let ended = answer.await.map_err(|_| StoreError::Closed)??;
        failpoint::hit("settled");
        match ended {
            Ended::Recorded => Ok(Written::Recorded),
            Ended::Superseded(stored) => restore(&stored).map(Written::Superseded),
        }
    }

    /// A read, or a call refused early: written soon, waited for by nobody. Lost when the machine stops before.
    async fn note(&self, end: End<'_>) -> Result<Written, StoreError> {
        thread_local! {
            static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let run = end.call.scope.run.id();
        let tally = record::tally(end.settled.status());
        loop {
            let queue = &self.inner.desk.queue;
            let room = queue.room();
            tokio::pin!(room);
            room.as_mut().enable();
            let noted = SCRATCH.with_borrow_mut(|line| {
                line.clear();
                record::call(line, &end, &self.redactor)
                    .map_err(|error| StoreError::Database(error.to_string()))?;
                queue.note(run, line, 1, tally)
            })?;
            if noted {
                return Ok(Written::Recorded);
            }
            room.await;
        }
    }

    /// Notes that these answers were handed to whoever asked. Lazily, as reads are.
    pub fn delivered(&self, run: &RunId, turn: u32, calls: &[&str]) {
        let mut line = Vec::new();
        record::delivered(&mut line, turn, calls);
        let _ = self.inner.desk.queue.note(run, &line, 1, Tally::default());
        failpoint::hit("delivered");
    }
}

fn restore(stored: &[u8]) -> Result<Settled, StoreError> {
    Settled::restore(stored).map_err(|error| StoreError::Database(error.to_string()))
}

fn fault(error: StoreError) -> LedgerFault {
    LedgerFault(Box::new(error))
}
