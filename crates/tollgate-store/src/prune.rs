//! Old records go; their hashes stay, so that the chain stays whole.

use std::time::Duration;

use crate::{Store, StoreError, book::Tx, db::Param, key::digest, now_ms, trace::rows_of};

/// What was taken out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Pruned {
    /// Runs that are gone from the list.
    pub runs: usize,
    /// Rows of the journal that hold only their hash now.
    pub rows: usize,
    /// Bytes of records set free.
    pub bytes: i64,
}

impl Store {
    /// Takes out the records of runs whose latest record is older than `age`. Runs with an open call stay. The keys of
    /// their calls are forgotten with them: the same key would run again.
    pub fn prune(&self, age: Duration) -> Result<Pruned, StoreError> {
        let before = now_ms().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        let mut pruned = Pruned::default();
        // In short steps: nobody who records a call meanwhile waits for all of it.
        let mut after = String::new();
        loop {
            let from = after.clone();
            let step = self.write_blocking(move |tx| shorten(tx, before, &from))?;
            pruned.rows += step.rows;
            pruned.bytes += step.bytes;
            match step.last {
                Some(last) => after = last,
                None => break,
            }
        }
        pruned.runs = self.write_blocking(move |tx| forget(tx, before))?;
        if pruned.rows > 0 {
            self.read(|db| db.shrink())?;
        }
        Ok(pruned)
    }
}

/// Runs that are old and have no open call.
const OLD: &str = "SELECT run FROM runs WHERE latest < $1 AND calls > 0
     AND run NOT IN (SELECT run FROM calls WHERE state IN (0, 1))";

/// Runs looked at in one step.
const STEP: usize = 50;

struct Step {
    rows: usize,
    bytes: i64,
    /// The last run of the step; `None` when there was none.
    last: Option<String>,
}

/// Leaves only the hash of each record of the next few old runs.
fn shorten(tx: &mut Tx<'_>, before: i64, after: &str) -> Result<Step, StoreError> {
    let mut step = Step { rows: 0, bytes: 0, last: None };
    let sql = format!("{OLD} AND run > $2 ORDER BY run LIMIT {STEP}");
    for row in tx.db().query(&sql, &[Param::Int(before), Param::Text(after)])? {
        let run = row.text(0)?;
        for row in rows_of(tx.db(), run, 0)? {
            if row.int(2)? < 0 {
                continue;
            }
            let body = row.blob(3)?;
            step.bytes += i64::try_from(body.len()).unwrap_or(0);
            step.rows += 1;
            tx.db().execute(
                "UPDATE journal SET records = -1, body = $1 WHERE seq = $2",
                &[Param::Blob(&digest(body)), Param::Int(row.int(0)?)],
            )?;
        }
        step.last = Some(run.to_owned());
    }
    Ok(step)
}

/// Forgets the old runs themselves, their keys and what they spent.
fn forget(tx: &mut Tx<'_>, before: i64) -> Result<usize, StoreError> {
    for table in ["spent", "calls"] {
        tx.db().execute(&format!("DELETE FROM {table} WHERE run IN ({OLD})"), &[Param::Int(before)])?;
    }
    // The row itself stays: it leads to the hashes, which the chain needs.
    let empty = "UPDATE runs SET calls = 0, ok = 0, refused = 0, failed = 0, unknown = 0";
    let runs = tx.db().execute(&format!("{empty} WHERE run IN ({OLD})"), &[Param::Int(before)])?;
    Ok(usize::try_from(runs).unwrap_or(usize::MAX))
}
