//! One thread writes: the records of all calls that wait share one transaction and one sync.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use crate::{
    StoreError,
    book::{self, Claimed, Ended, Holders, Tails, Tx},
    breakers::LOOK,
    db::{Db, Durability},
    failpoint,
    key::Key,
    place::Place,
};

mod desk;
mod parcel;
mod queue;

pub(crate) use desk::Desk;
pub(crate) use parcel::{Back, Parcel};
pub(crate) use queue::{Done, Op, Queue, Reply, Work};

/// Records nobody waits for are written at the latest after this.
const LAZY: Duration = Duration::from_millis(50);

/// How long those that were answered together are waited for.
const LINGER: Duration = Duration::from_micros(1_500);

/// A process that had the store open for so long can take the time to tidy up.
const LONG: Duration = Duration::from_secs(2);

/// The writing end.
pub(crate) struct Writer {
    pub(crate) place: Place,
    pub(crate) db: Box<dyn Db>,
    pub(crate) key: Key,
    pub(crate) owner: i64,
    pub(crate) lease: Duration,
    pub(crate) patience: Duration,
    pub(crate) desk: Arc<Desk>,
    pub(crate) holders: Holders,
    pub(crate) tails: Tails,
    pub(crate) began: Instant,
}

/// Whether what could not be written may be written another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    Later,
    Never,
}

/// What came of one op, told after the commit.
enum Outcome {
    Nothing,
    Claimed(Result<Claimed, StoreError>),
    Ended(Ended),
    Done(Done),
}

impl Writer {
    /// Writes until the store is closed and everything is written.
    pub(crate) fn run(mut self) {
        let mut beaten = Instant::now();
        let mut crowd = 0;
        let mut lazy_at = Instant::now();
        let mut looked = Instant::now();
        loop {
            if crowd > 1 {
                self.desk.queue.linger(crowd, Instant::now() + LINGER);
            }
            let mut wake_at = beaten + self.lease / 4;
            if self.desk.shelf.is_minded() {
                wake_at = wake_at.min(looked + LOOK);
            }
            let batch = self.desk.queue.take(wake_at.max(Instant::now()), lazy_at);
            if let Some(batch) = batch {
                crowd = batch.urgent;
                let closed = batch.closed;
                let well = self.write(batch.ops);
                lazy_at = Instant::now() + if well { LAZY } else { 10 * LAZY };
                if closed {
                    break;
                }
            }
            if Instant::now() >= beaten + self.lease / 4 {
                beaten = Instant::now();
                self.beat();
            }
            if self.desk.shelf.is_minded() && looked.elapsed() >= LOOK {
                looked = Instant::now();
                self.look();
            }
        }
        self.leave();
    }

    /// Shows that this process moves, while it holds anything others might wait for.
    fn beat(&mut self) {
        if self.desk.open.load(Ordering::Relaxed) <= 0 {
            return;
        }
        failpoint::hit("beat");
        if let Ok(false) = book::beat(&mut *self.db, self.owner) {
            self.come_back();
        }
    }

    /// Whether others have changed a breaker. What fails is tried the next time: the calls themselves will tell.
    fn look(&mut self) {
        if let Ok(true) = self.db.changed_elsewhere() {
            let _ = self.desk.shelf.look(&mut *self.db);
        }
    }

    /// Others have taken this process for dead, or the connection was lost: it goes on under a new number.
    fn come_back(&mut self) {
        if self.db.is_lost() {
            match self.place.connect(self.patience) {
                Ok(db) => self.db = db,
                Err(_) => return,
            }
        }
        let old = self.owner;
        if let Ok(owner) = book::register(&mut *self.db) {
            self.owner = owner;
            self.desk.owner.store(owner, Ordering::Release);
            let _ = self.in_one(|tx| book::recover(tx, old).map(drop));
            self.db.release(old);
        }
    }

    fn in_one(&mut self, work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut tx = Tx::begin(&mut *self.db, &self.key, &mut self.tails, Durability::Lazy)?;
        match work(&mut tx) {
            Ok(()) => tx.commit(),
            Err(error) => {
                tx.rollback();
                Err(error)
            }
        }
    }

    /// Everything in one transaction. Where that fails for a reason of one op's own, each gets a transaction of its
    /// own. False when nothing could be written.
    fn write(&mut self, mut ops: Vec<Op>) -> bool {
        match self.commit(&mut ops) {
            Ok(outcomes) => {
                self.desk.queue.mend();
                self.tell(ops, outcomes);
                true
            }
            Err(StoreError::Database(_)) if self.db.is_lost() => {
                self.come_back();
                let lost = StoreError::Database("the connection to the database was lost".to_owned());
                self.fail(ops, &lost, Retry::Later);
                false
            }
            Err(StoreError::Database(_)) if ops.len() > 1 => {
                let alone: Vec<bool> = ops.into_iter().map(|op| self.write(vec![op])).collect();
                !alone.contains(&false)
            }
            Err(error) => {
                // What the database will not take alone, and says no word we know about, it will never take.
                let retry =
                    if matches!(error, StoreError::Database(_)) { Retry::Never } else { Retry::Later };
                self.fail(ops, &error, retry);
                false
            }
        }
    }

    fn commit(&mut self, ops: &mut [Op]) -> Result<Vec<Outcome>, StoreError> {
        // Proposals and reads may be lost with the machine; starts and ends never.
        let lazy = ops.iter().all(|op| {
            matches!(op, Op::Propose { .. } | Op::Lines { .. } | Op::Do { sync: Durability::Lazy, .. })
        });
        let sync = if lazy { Durability::Lazy } else { Durability::Full };
        let mut tx = Tx::begin(&mut *self.db, &self.key, &mut self.tails, sync)?;
        let mut outcomes = Vec::with_capacity(ops.len());
        for op in ops {
            match apply(op, &mut tx, &mut self.holders, self.lease) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    tx.rollback();
                    return Err(error);
                }
            }
        }
        tx.commit()?;
        failpoint::hit("after_commit");
        Ok(outcomes)
    }

    fn tell(&mut self, ops: Vec<Op>, outcomes: Vec<Outcome>) {
        // Before anyone is told: what is proposed next goes under the new number.
        if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Claimed(Err(StoreError::Fenced)))) {
            self.come_back();
        }
        let mut ended = 0;
        for (op, outcome) in ops.into_iter().zip(outcomes) {
            match (op, outcome) {
                (Op::Claim { wanted, reply }, Outcome::Claimed(claimed)) => {
                    let _ = reply.send(claimed.map(|claimed| self.parcel(wanted.id, claimed)));
                }
                (Op::End { reply, .. }, Outcome::Ended(end)) => {
                    ended += 1;
                    if let Some(reply) = reply {
                        let _ = reply.send(Ok(end));
                    }
                }
                (Op::Abandon { .. }, _) => ended += 1,
                (Op::Do { reply: Some(Reply { to, back }), .. }, Outcome::Done(done)) => {
                    drop(to.send(Ok(Parcel::new(done, back))));
                }
                _ => {}
            }
        }
        if ended > 0 {
            self.desk.open.fetch_sub(ended, Ordering::Relaxed);
            self.desk.ended.notify_waiters();
        }
    }

    /// A claim that nobody takes is given up: the body never began, and the key is free again.
    fn parcel(&self, id: i64, claimed: Claimed) -> Parcel<Claimed> {
        let Claimed::Granted = claimed else { return Parcel::new(claimed, None) };
        let queue = self.desk.queue.clone();
        let back: Back<Claimed> = Box::new(move |_| drop(queue.push(Op::Abandon { id, ran: false })));
        Parcel::new(claimed, Some(back))
    }

    /// Those who wait are told; what nobody waits for is kept and tried again. An end is kept in any case.
    fn fail(&self, ops: Vec<Op>, error: &StoreError, retry: Retry) {
        let mut kept = Vec::new();
        for op in ops {
            match op {
                Op::Claim { reply, .. } => drop(reply.send(Err(error.again()))),
                Op::Do { reply: Some(reply), .. } => drop(reply.to.send(Err(error.again()))),
                Op::End { ending, reply } => {
                    if let Some(reply) = reply {
                        let _ = reply.send(Err(error.again()));
                    }
                    kept.push(Op::End { ending, reply: None });
                }
                other => kept.push(other),
            }
        }
        if retry == Retry::Never && !kept.is_empty() {
            self.desk.lost.fetch_add(1, Ordering::Relaxed);
            kept.clear();
        }
        self.desk.queue.put_back(kept, error);
    }

    /// Closing: what is still open gets its end, and the mark goes.
    fn leave(&mut self) {
        let owner = self.owner;
        let _ = self.in_one(|tx| book::recover(tx, owner).map(drop));
        self.db.release(owner);
        if self.began.elapsed() > LONG {
            self.db.tidy();
        }
    }
}

fn apply(
    op: &mut Op,
    tx: &mut Tx<'_>,
    holders: &mut Holders,
    lease: Duration,
) -> Result<Outcome, StoreError> {
    Ok(match op {
        Op::Propose { id, run, caller, line } => {
            book::propose(tx, *id, run, caller, line);
            Outcome::Nothing
        }
        Op::Lines { run, body, records, tally } => {
            tx.write(run.as_str(), body, *records, *tally);
            Outcome::Nothing
        }
        Op::Claim { wanted, .. } => match book::claim(tx, wanted, holders, lease) {
            Ok(claimed) => Outcome::Claimed(Ok(claimed)),
            // Of this claim alone; nothing was written for it.
            Err(StoreError::Fenced) => Outcome::Claimed(Err(StoreError::Fenced)),
            Err(error) => return Err(error),
        },
        Op::End { ending, .. } => Outcome::Ended(book::end(tx, ending)?),
        Op::Abandon { id, ran } => {
            book::abandon(tx, *id, *ran)?;
            Outcome::Nothing
        }
        Op::Do { work, .. } => Outcome::Done(work(tx)?),
    })
}
