//! Whether the journal is still what was written: every row linked to the one before by a keyed hash.

use serde::Serialize;

use crate::{
    Store, StoreError,
    db::Param,
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
    /// Walks the whole chain.
    pub fn verify(&self) -> Result<Report, StoreError> {
        let key: Key = self.inner.key.clone();
        self.read(move |db| {
            let mut report = Report::default();
            let mut before: Vec<u8> = Vec::new();
            let mut last = 0;
            // One look at the head first: what is written meanwhile is beyond it.
            let head = db.query("SELECT seq, mac FROM head", &[])?;
            let (end, mac) = match head.first() {
                Some(row) => (row.int(0)?, row.blob(1).map(<[u8]>::to_vec).unwrap_or_default()),
                None => (0, Vec::new()),
            };
            report.head = crate::key::hex(&mac);
            'chain: loop {
                let rows = db.query(
                    "SELECT seq, run, at, records, body, mac FROM journal
                     WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3",
                    &[Param::Int(last), Param::Int(end), Param::Int(STEP)],
                )?;
                for row in &rows {
                    let (seq, records, body) = (row.int(0)?, row.int(3)?, row.blob(4)?);
                    let hash = if records < 0 { body.to_vec() } else { digest(body).to_vec() };
                    let link = key.link(&before, seq, row.text(1)?, row.int(2)?, &hash);
                    let why = if seq != last + 1 {
                        Some("rows before it are missing")
                    } else if link != *row.blob(5)? {
                        Some("it, or its link, is not what was written")
                    } else {
                        None
                    };
                    if let Some(why) = why {
                        report.broken = Some(Broken { seq, why });
                        break 'chain;
                    }
                    report.rows += 1;
                    report.records += records.max(0);
                    report.pruned += i64::from(records < 0);
                    let unreadable = if records < 0 { 0 } else { unreadable(body) };
                    if unreadable > 0 {
                        report.unreadable += unreadable;
                        report.first_unreadable.get_or_insert(seq);
                    }
                    before = link.to_vec();
                    last = seq;
                }
                if rows.is_empty() {
                    break;
                }
            }
            if report.broken.is_none() && (last != end || before != mac) {
                report.broken = Some(Broken { seq: end, why: "the end of the chain is missing" });
            }
            Ok(report)
        })
    }
}

fn unreadable(body: &[u8]) -> i64 {
    i64::try_from(record::records(body).filter(Result::is_err).count()).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
