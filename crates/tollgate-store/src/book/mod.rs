//! What one transaction writes: journal rows, where calls stand, what runs add up to. All of it or none.

use std::collections::HashMap;

use crate::{
    StoreError,
    db::{Db, Durability, Param, Row},
    key::{Key, digest},
};

mod claim;
mod end;
mod owner;

pub(crate) use claim::{Claimed, Holders, Wanted, claim, propose, recall};
pub(crate) use end::{Ended, Ending, abandon, end, recover};
pub(crate) use owner::{beat, close, gone_owners, register};

/// Where a call that was claimed, or given up, stands. 0 is one that was only proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Running = 1,
    /// Ended, and the same key gives the same answer again.
    Ended = 2,
    /// Started, and nobody knows how it ended.
    Unknown = 3,
    /// Ended without effect: the key is free.
    Released = 4,
}

/// What the records of one row add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) calls: i64,
    pub(crate) ok: i64,
    pub(crate) refused: i64,
    pub(crate) failed: i64,
    pub(crate) unknown: i64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.ok += other.ok;
        self.refused += other.refused;
        self.failed += other.failed;
        self.unknown += other.unknown;
    }
}

/// A journal row in the making.
struct Page {
    seq: i64,
    run: String,
    records: i64,
    body: Vec<u8>,
    tally: Tally,
}

/// The last row of runs that were written lately. True for as long as nobody else has written since; the head tells.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    head: i64,
    of: HashMap<String, i64>,
}

impl Tails {
    /// More runs than one process has at work.
    const MOST: usize = 4_096;

    /// What is still true now that the chain ends with this row.
    fn as_of(&mut self, head: i64) {
        if self.head != head || self.of.len() > Self::MOST {
            self.of.clear();
        }
        self.head = head;
    }
}

/// An open transaction.
pub(crate) struct Tx<'a> {
    db: &'a mut dyn Db,
    key: &'a Key,
    tails: &'a mut Tails,
    /// Milliseconds since 1970. Only shown: nothing is decided by the wall clock.
    now: i64,
    seq: i64,
    mac: Vec<u8>,
    pages: Vec<Page>,
    /// Where each run's page is.
    places: HashMap<String, usize>,
    /// Calls that were proposed in this transaction and have no row yet.
    fresh: HashMap<i64, claim::Fresh>,
    /// An owner that was seen alive in this transaction, and so is alive until its end.
    alive: Option<i64>,
}

impl<'a> Tx<'a> {
    /// Begins.
    pub(crate) fn begin(
        db: &'a mut dyn Db,
        key: &'a Key,
        tails: &'a mut Tails,
        sync: Durability,
    ) -> Result<Self, StoreError> {
        db.begin(sync)?;
        match db.query("SELECT seq, mac FROM head", &[]).and_then(|rows| head(&rows)) {
            Ok((seq, mac)) => {
                tails.as_of(seq);
                let (pages, places, fresh) = (Vec::new(), HashMap::new(), HashMap::new());
                let now = crate::now_ms();
                Ok(Self { db, key, tails, now, seq, mac, pages, places, fresh, alive: None })
            }
            Err(error) => {
                db.rollback();
                Err(error)
            }
        }
    }

    /// Adds whole lines of records to the row of their run, and says which row that is.
    pub(crate) fn write(&mut self, run: &str, lines: &[u8], records: i64, tally: Tally) -> i64 {
        let at = match self.places.get(run) {
            Some(at) => *at,
            None => {
                self.places.insert(run.to_owned(), self.pages.len());
                self.seq += 1;
                let page = Page {
                    seq: self.seq,
                    run: run.to_owned(),
                    records: 0,
                    body: Vec::new(),
                    tally: Tally::default(),
                };
                self.pages.push(page);
                self.pages.len() - 1
            }
        };
        let page = &mut self.pages[at];
        page.body.extend_from_slice(lines);
        page.records += records;
        page.tally.add(tally);
        page.seq
    }

    /// The row that records of this run go to.
    fn seq_of(&mut self, run: &str) -> i64 {
        self.write(run, b"", 0, Tally::default())
    }

    /// Takes back a row that was begun for something that turned out not to be written.
    fn drop_if_empty(&mut self, run: &str) {
        if self.pages.last().is_some_and(|page| page.run == run && page.records == 0) {
            self.pages.pop();
            self.places.remove(run);
            self.seq -= 1;
        }
    }

    /// Writes the rows and commits. Durable when it returns.
    pub(crate) fn commit(mut self) -> Result<(), StoreError> {
        let written = self.flush().and_then(|()| {
            crate::failpoint::hit("before_commit");
            self.db.commit()
        });
        if written.is_ok() {
            self.tails.head = self.seq;
        } else {
            self.tails.of.clear();
            self.db.rollback();
        }
        written
    }

    pub(crate) fn rollback(self) {
        self.db.rollback();
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        claim::note_fresh(self)?;
        if self.pages.is_empty() {
            return Ok(());
        }
        for page in std::mem::take(&mut self.pages) {
            let link = self.key.link(&self.mac, page.seq, &page.run, self.now, &digest(&page.body));
            let prev = self.add_up(&page)?;
            self.db.execute(
                "INSERT INTO journal (seq, prev, run, at, records, body, mac) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                &[
                    Param::Int(page.seq),
                    Param::Int(prev),
                    Param::Text(&page.run),
                    Param::Int(self.now),
                    Param::Int(page.records),
                    Param::Blob(&page.body),
                    Param::Blob(&link),
                ],
            )?;
            self.mac = link.to_vec();
        }
        self.db
            .execute("UPDATE head SET seq = $1, mac = $2", &[Param::Int(self.seq), Param::Blob(&self.mac)])?;
        Ok(())
    }

    /// Makes the row the last one of its run, and says which one was before it. A run is in the list, with the time of
    /// its latest end, once one of its calls has one.
    fn add_up(&mut self, page: &Page) -> Result<i64, StoreError> {
        let Tally { calls, ok, refused, failed, unknown } = page.tally;
        let (run, seq, now) = (Param::Text(&page.run), Param::Int(page.seq), Param::Int(self.now));
        let prev = match self.tails.of.get_mut(&page.run) {
            Some(tail) => Some(std::mem::replace(tail, page.seq)),
            None => {
                self.tails.of.insert(page.run.clone(), page.seq);
                let rows = self.db.query("SELECT tail FROM runs WHERE run = $1", &[run])?;
                rows.first().map(|row| row.int(0)).transpose()?
            }
        };
        let [calls, ok, refused, failed, unknown] = [calls, ok, refused, failed, unknown].map(Param::Int);
        match prev {
            None => self.db.execute(
                "INSERT INTO runs (tail, began, latest, calls, ok, refused, failed, unknown, run)
                 VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8)",
                &[seq, now, calls, ok, refused, failed, unknown, run],
            ),
            // `latest` and `calls` are in an index: they are touched only where they change.
            Some(_) if page.tally.calls == 0 => {
                self.db.execute("UPDATE runs SET tail = $1 WHERE run = $2", &[seq, run])
            }
            Some(_) => self.db.execute(
                "UPDATE runs SET tail = $1, latest = $2, calls = calls + $3, ok = ok + $4,
                   refused = refused + $5, failed = failed + $6, unknown = unknown + $7 WHERE run = $8",
                &[seq, now, calls, ok, refused, failed, unknown, run],
            ),
        }?;
        Ok(prev.unwrap_or(0))
    }

    pub(crate) fn key(&self) -> &Key {
        self.key
    }

    pub(crate) fn db(&mut self) -> &mut dyn Db {
        self.db
    }

    /// The lines of a journal row, also of one that this transaction is about to write.
    fn body(&mut self, seq: i64) -> Result<Vec<u8>, StoreError> {
        if let Some(page) = self.pages.iter().find(|page| page.seq == seq) {
            return Ok(page.body.clone());
        }
        let rows = self.db.query("SELECT body FROM journal WHERE seq = $1", &[Param::Int(seq)])?;
        rows.first().map_or(Ok(Vec::new()), |row| row.blob(0).map(<[u8]>::to_vec))
    }
}

fn head(rows: &[Row]) -> Result<(i64, Vec<u8>), StoreError> {
    let row =
        rows.first().ok_or_else(|| StoreError::Database("the head of the journal is gone".to_owned()))?;
    Ok((row.int(0)?, row.blob(1)?.to_vec()))
}
