//! Old records go; their hashes stay, so that the chain stays whole.

use std::time::Duration;

use crate::{Store, StoreError, db::Param, key::digest, now_ms};

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
        self.write_blocking(move |tx| {
            let mut pruned = Pruned::default();
            let runs = tx.db().query(
                "SELECT run FROM runs WHERE latest < $1
                 AND run NOT IN (SELECT run FROM calls WHERE state IN (0, 1))",
                &[Param::Int(before)],
            )?;
            for row in &runs {
                let run = row.text(0)?;
                let rows = tx.db().query(
                    "SELECT seq, body FROM journal WHERE run = $1 AND records >= 0",
                    &[Param::Text(run)],
                )?;
                for row in rows {
                    let body = row.blob(1)?;
                    pruned.bytes += i64::try_from(body.len()).unwrap_or(0);
                    pruned.rows += 1;
                    tx.db().execute(
                        "UPDATE journal SET records = -1, body = $1 WHERE seq = $2",
                        &[Param::Blob(&digest(body)), Param::Int(row.int(0)?)],
                    )?;
                }
                tx.db().execute("DELETE FROM calls WHERE run = $1", &[Param::Text(run)])?;
                tx.db().execute("DELETE FROM runs WHERE run = $1", &[Param::Text(run)])?;
                pruned.runs += 1;
            }
            Ok(pruned)
        })
    }
}
