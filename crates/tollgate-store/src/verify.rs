//! Whether the journal is still what was written: every row linked to the one before by a keyed hash.

use std::collections::HashMap;

use serde::Serialize;

use crate::{
    Store, StoreError,
    db::{Db, Param, Row},
    key::{Key, digest},
    record,
};

/// What the chain says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Rows looked at.
    pub rows: i64,
    /// Records in them.
    pub records: i64,
    /// Rows whose records were pruned; their hashes are still linked.
    pub pruned: i64,
    /// Records that are as they were written and cannot be read.
    pub unreadable: i64,
    /// The first row that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_unreadable: Option<i64>,
    /// The first row that is not what was written, and why.
    pub broken: Option<Broken>,
    /// The end of the chain. Note it elsewhere: a chain that was cut at its end looks whole without it.
    pub head: String,
}

/// Where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Broken {
    /// The row.
    pub seq: i64,
    /// What is wrong with it.
    #[serde(rename = "reason")]
    pub why: &'static str,
}

impl Report {
    /// True when nothing in the chain contradicts it.
    pub fn is_whole(&self) -> bool {
        self.broken.is_none()
    }

    /// True when the chain is whole and every record in it can be read.
    pub fn is_readable(&self) -> bool {
        self.is_whole() && self.unreadable == 0
    }

    /// What this can and cannot prove, for people.
    pub fn honestly() -> &'static str {
        "A whole chain shows that no row was changed, moved or taken out of the middle by anyone without the \
         store's key. It cannot show that nobody with the key wrote a new chain (whoever can read the store has it, \
         unless it was given from outside with TOLLGATE_STORE_KEY_FILE), nor that rows were not cut off at the end, unless you compare the head with one noted elsewhere; \
         and it says nothing about calls that were never recorded."
    }
}

/// Rows looked at in one go.
const STEP: i64 = 1_000;

impl Store {
    /// Walks the whole chain, and the way from row to row of each run beside it. A database that is damaged where the
    /// chain does not go is an error.
    pub fn verify(&self) -> Result<Report, StoreError> {
        let key: Key = self.inner.key()?.clone();
        self.read(move |db| {
            // One look at the head first: what is written meanwhile is beyond it.
            let head = db.query("SELECT seq, mac FROM head", &[])?;
            let (end, mac) = match head.first() {
                Some(row) => (row.int(0)?, row.blob(1).map(<[u8]>::to_vec).unwrap_or_default()),
                None => (0, Vec::new()),
            };
            let mut walk =
                Walk { key, report: Report::default(), before: Vec::new(), last: 0, tails: HashMap::new() };
            walk.report.head = tollgate::outcome::hex(&mac);
            walk.chain(db, end)?;
            if walk.report.broken.is_none() && (walk.last != end || walk.before != mac) {
                walk.report.broken = Some(Broken { seq: end, why: "the end of the chain is missing" });
            }
            if walk.report.broken.is_none() {
                walk.runs(db, end)?;
            }
            // What the chain does not speak of: which keys are held, what waits for a person, what was spent.
            if walk.report.broken.is_none() {
                db.check()?;
            }
            Ok(walk.report)
        })
    }
}

/// How far the chain was followed.
struct Walk {
    key: Key,
    report: Report,
    before: Vec<u8>,
    last: i64,
    /// The last row of each run so far.
    tails: HashMap<String, i64>,
}

impl Walk {
    /// Follows the chain to its end, or to the first row that is not what was written.
    fn chain(&mut self, db: &mut dyn Db, end: i64) -> Result<(), StoreError> {
        loop {
            let rows = db.query(
                "SELECT seq, run, at, records, body, mac, prev FROM journal
                 WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3",
                &[Param::Int(self.last), Param::Int(end), Param::Int(STEP)],
            )?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in &rows {
                if let Some(why) = self.row(row)? {
                    self.report.broken = Some(Broken { seq: row.int(0)?, why });
                    return Ok(());
                }
            }
        }
    }

    /// What is wrong with the next row, if anything.
    fn row(&mut self, row: &Row) -> Result<Option<&'static str>, StoreError> {
        let (seq, run, records, body) = (row.int(0)?, row.text(1)?, row.int(3)?, row.blob(4)?);
        let hash = if records < 0 { body.to_vec() } else { digest(body).to_vec() };
        let link = self.key.link(&self.before, seq, run, row.int(2)?, &hash);
        if seq != self.last + 1 {
            return Ok(Some("rows before it are missing"));
        }
        if link != *row.blob(5)? {
            return Ok(Some("it, or its link, is not what was written"));
        }
        let prev = match self.tails.get_mut(run) {
            Some(tail) => std::mem::replace(tail, seq),
            None => {
                self.tails.insert(run.to_owned(), seq);
                0
            }
        };
        if row.int(6)? != prev {
            return Ok(Some("it does not name the row of its run before it"));
        }
        self.report.rows += 1;
        self.report.records += records.max(0);
        self.report.pruned += i64::from(records < 0);
        let unreadable = if records < 0 { 0 } else { unreadable(body) };
        if unreadable > 0 {
            self.report.unreadable += unreadable;
            self.report.first_unreadable.get_or_insert(seq);
        }
        self.before = link.to_vec();
        self.last = seq;
        Ok(None)
    }

    /// Every run must lead to its last row: one that did not would show less than there is.
    fn runs(&mut self, db: &mut dyn Db, end: i64) -> Result<(), StoreError> {
        for (run, tail) in &self.tails {
            let rows = db.query("SELECT tail FROM runs WHERE run = $1", &[Param::Text(run)])?;
            let mut found = rows.first().map_or(Ok(0), |row| row.int(0))?;
            // Written meanwhile: back to where this walk ended.
            while found > end {
                let rows = db.query(
                    "SELECT prev FROM journal WHERE seq = $1 AND run = $2 AND prev < $1",
                    &[Param::Int(found), Param::Text(run)],
                )?;
                found = rows.first().map_or(Ok(0), |row| row.int(0))?;
            }
            if found != *tail {
                self.report.broken = Some(Broken { seq: *tail, why: "its run does not lead to it" });
                return Ok(());
            }
        }
        Ok(())
    }
}

fn unreadable(body: &[u8]) -> i64 {
    i64::try_from(record::records(body).filter(Result::is_err).count()).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
