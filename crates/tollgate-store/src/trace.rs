//! Reading the journal: runs, and what happened in one.

use serde::Serialize;

use crate::{
    Line, Store, StoreError, Unreadable,
    db::{Db, Param, Row},
    record,
};

/// What a run adds up to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunSummary {
    /// The run.
    pub run: String,
    /// The first record, in milliseconds since 1970.
    pub began_ms: i64,
    /// The latest one.
    pub latest_ms: i64,
    /// Calls with an end.
    pub calls: i64,
    /// Of those: went well.
    pub ok: i64,
    /// Stopped before they ran.
    pub refused: i64,
    /// Failed.
    pub failed: i64,
    /// Nobody knows whether they took effect.
    pub unknown: i64,
}

/// One row of the journal: records of one run, written in one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the chain.
    pub seq: i64,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: i64,
    /// True when its records were pruned and only their hash is left.
    pub pruned: bool,
    body: Vec<u8>,
}

impl Entry {
    /// Its records, in order, and what cannot be read as one between them: for whoever must not miss any.
    pub fn records(&self) -> impl Iterator<Item = Result<Line<'_>, Unreadable<'_>>> {
        let body: &[u8] = if self.pruned { &[] } else { &self.body };
        record::records(body)
    }

    /// The records that can be read.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.records().filter_map(Result::ok)
    }
}

impl Store {
    /// The latest runs, the latest first.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunSummary>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.read(|db| {
            db.query(
                "SELECT run, began, latest, calls, ok, refused, failed, unknown FROM runs
                 WHERE calls > 0 ORDER BY latest DESC, run LIMIT $1",
                &[Param::Int(limit)],
            )
        })?;
        rows.iter().map(summary).collect()
    }

    /// What one run adds up to.
    pub fn run(&self, run: &str) -> Result<Option<RunSummary>, StoreError> {
        let rows = self.read(|db| {
            db.query(
                "SELECT run, began, latest, calls, ok, refused, failed, unknown FROM runs
                 WHERE run = $1 AND calls > 0",
                &[Param::Text(run)],
            )
        })?;
        rows.first().map(summary).transpose()
    }

    /// The journal of one run, from the row after `after` on; 0 for all of it.
    pub fn journal(&self, run: &str, after: i64) -> Result<Vec<Entry>, StoreError> {
        let rows = self.read(|db| rows_of(db, run, after))?;
        rows.into_iter()
            .map(|row| {
                Ok(Entry {
                    seq: row.int(0)?,
                    at_ms: row.int(1)?,
                    pruned: row.int(2)? < 0,
                    body: row.blob(3)?.to_vec(),
                })
            })
            .collect()
    }

    /// Bytes the database takes.
    pub fn size(&self) -> Result<i64, StoreError> {
        self.read(|db| db.size())
    }
}

/// The rows of a run after `after`, in order: number, time, count of records, body. Each names the one before it; a
/// number that does not get smaller, which only a hand from outside can have written, ends the walk.
pub(crate) fn rows_of(db: &mut dyn Db, run: &str, after: i64) -> Result<Vec<Row>, StoreError> {
    let mut rows = db.query(
        "WITH RECURSIVE back (seq, prev) AS (
             SELECT seq, prev FROM journal WHERE seq = (SELECT tail FROM runs WHERE run = $1)
             UNION ALL
             SELECT journal.seq, journal.prev FROM back CROSS JOIN journal
             WHERE journal.seq = back.prev AND back.prev < back.seq AND back.prev > $2)
         SELECT journal.seq, at, records, body FROM back CROSS JOIN journal
         WHERE journal.seq = back.seq AND journal.seq > $2 AND run = $1",
        &[Param::Text(run), Param::Int(after)],
    )?;
    // They come as they were found, the last one first, and no database promises that.
    rows.sort_by_key(|row| row.int(0).unwrap_or(0));
    Ok(rows)
}

fn summary(row: &Row) -> Result<RunSummary, StoreError> {
    Ok(RunSummary {
        run: row.text(0)?.to_owned(),
        began_ms: row.int(1)?,
        latest_ms: row.int(2)?,
        calls: row.int(3)?,
        ok: row.int(4)?,
        refused: row.int(5)?,
        failed: row.int(6)?,
        unknown: row.int(7)?,
    })
}
