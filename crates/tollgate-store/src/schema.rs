//! The tables, how they came to be, and the refusal to touch what a newer program made.

use crate::{
    StoreError,
    db::{Db, Param},
    key::Key,
    place::Place,
};

/// The newest version this program knows: one for each migration.
#[expect(clippy::cast_possible_wrap, reason = "there are not that many")]
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Each is run once, in order. What stands here is never changed, only added to.
///
/// `journal` is the ledger: append-only, one row for all records of one run in one commit, each row chained to the
/// one before. `runs` says what each run adds up to, and which row is its last; each row names the one of its run before
/// it (`prev`). An index would say the same, and be another page to write for every run of every commit. `calls` says where every call that needed a claim stands; its row and the journal's change in the same
/// transaction. `owners` are processes that have, or had, the store open. `questions` wait for a person. `spent` counts
/// what runs with a budget have used: the row without a tool is the whole run.
///
/// `INTEGER PRIMARY KEY` is the row's own place in SQLite, and `BIGINT` in PostgreSQL. A key that is free stands in no
/// row of `calls`, so that an end changes no index but the one of open calls. A key that is held is found by its `slot`,
/// a keyed hash of caller and key: an index of short numbers has few pages.
const MIGRATIONS: [&str; 3] = ["
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE head (one BIGINT PRIMARY KEY, seq BIGINT NOT NULL, mac BLOB NOT NULL, owner BIGINT NOT NULL);
    CREATE TABLE owners (
        id BIGINT PRIMARY KEY, pid BIGINT NOT NULL, began BIGINT NOT NULL, beat BIGINT NOT NULL, ended BIGINT);
    CREATE TABLE calls (
        id BIGINT PRIMARY KEY, run TEXT NOT NULL, caller TEXT NOT NULL, key TEXT, fingerprint BLOB,
        state BIGINT NOT NULL, seq BIGINT NOT NULL);
    CREATE UNIQUE INDEX calls_key ON calls (caller, key) WHERE state IN (1, 2, 3);
    CREATE INDEX calls_open ON calls (id) WHERE state IN (0, 1);
    CREATE TABLE journal (
        seq BIGINT PRIMARY KEY, run TEXT NOT NULL, at BIGINT NOT NULL, records BIGINT NOT NULL,
        body BLOB NOT NULL, mac BLOB NOT NULL);
    CREATE INDEX journal_run ON journal (run, seq);
    CREATE TABLE runs (
        run TEXT PRIMARY KEY, began BIGINT NOT NULL, latest BIGINT NOT NULL, calls BIGINT NOT NULL,
        ok BIGINT NOT NULL, refused BIGINT NOT NULL, failed BIGINT NOT NULL, unknown BIGINT NOT NULL);
    CREATE INDEX runs_latest ON runs (latest);
    CREATE TABLE breakers (
        kind TEXT NOT NULL, name TEXT NOT NULL, failures BIGINT NOT NULL, opened BIGINT NOT NULL,
        until BIGINT NOT NULL, PRIMARY KEY (kind, name));
    INSERT INTO head (one, seq, mac, owner) VALUES (1, 0, '', 0);
", "
    CREATE TABLE calls_2 (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL, caller TEXT NOT NULL, key TEXT, fingerprint BLOB,
        state BIGINT NOT NULL, seq BIGINT NOT NULL);
    INSERT INTO calls_2 (id, run, caller, key, fingerprint, state, seq)
        SELECT id, run, caller, CASE WHEN state IN (1, 2, 3) THEN key END, fingerprint, state, seq FROM calls;
    DROP TABLE calls;
    ALTER TABLE calls_2 RENAME TO calls;
    CREATE UNIQUE INDEX calls_held ON calls (caller, key);
    CREATE INDEX calls_open ON calls (id) WHERE state IN (0, 1);
    CREATE TABLE journal_2 (
        seq INTEGER PRIMARY KEY, run TEXT NOT NULL, at BIGINT NOT NULL, records BIGINT NOT NULL,
        body BLOB NOT NULL, mac BLOB NOT NULL);
    INSERT INTO journal_2 (seq, run, at, records, body, mac)
        SELECT seq, run, at, records, body, mac FROM journal;
    DROP TABLE journal;
    ALTER TABLE journal_2 RENAME TO journal;
    CREATE INDEX journal_run ON journal (run, seq);
    CREATE TABLE questions (
        digest TEXT PRIMARY KEY, id TEXT NOT NULL, run TEXT NOT NULL, asked BIGINT NOT NULL,
        expires BIGINT NOT NULL, body BLOB NOT NULL, reply BLOB);
    CREATE TABLE spent (
        run TEXT NOT NULL, tool TEXT NOT NULL, calls BIGINT NOT NULL, micros BIGINT NOT NULL,
        tokens BIGINT NOT NULL, money BIGINT NOT NULL, PRIMARY KEY (run, tool));
", "
    ALTER TABLE runs ADD COLUMN tail BIGINT NOT NULL DEFAULT 0;
    INSERT INTO runs (run, began, latest, calls, ok, refused, failed, unknown)
        SELECT run, MIN(at), MAX(at), 0, 0, 0, 0, 0 FROM journal
        WHERE run NOT IN (SELECT run FROM runs) GROUP BY run;
    UPDATE runs SET tail = COALESCE((SELECT MAX(seq) FROM journal WHERE journal.run = runs.run), 0);
    DROP INDEX runs_latest;
    CREATE INDEX runs_latest ON runs (latest) WHERE calls > 0;
    CREATE TABLE journal_3 (
        seq INTEGER PRIMARY KEY, prev BIGINT NOT NULL, run TEXT NOT NULL, at BIGINT NOT NULL,
        records BIGINT NOT NULL, body BLOB NOT NULL, mac BLOB NOT NULL);
    INSERT INTO journal_3 (seq, prev, run, at, records, body, mac)
        SELECT journal.seq, before.prev, run, at, records, body, mac FROM journal JOIN
            (SELECT seq, LAG(seq, 1, CAST(0 AS BIGINT)) OVER (PARTITION BY run ORDER BY seq) AS prev
             FROM journal) AS before ON before.seq = journal.seq
        ORDER BY journal.seq;
    DROP TABLE journal;
    ALTER TABLE journal_3 RENAME TO journal;
    ALTER TABLE calls ADD COLUMN slot BIGINT;
    DROP INDEX calls_held;
    CREATE UNIQUE INDEX calls_slot ON calls (slot);
"];

/// Brings the tables to this program's version, or says why not.
pub(crate) fn prepare(db: &mut dyn Db, place: &Place) -> Result<(), StoreError> {
    if db.has_tables()? && version(db)? == VERSION {
        return Ok(());
    }
    // Two processes may come here at the same time: whoever is second finds the work done.
    let found = if db.has_tables()? { version(db)? } else { 0 };
    if found > VERSION {
        return Err(StoreError::Newer { place: place.shown(), found, known: VERSION });
    }
    let from = usize::try_from(found)
        .map_err(|_| StoreError::Corrupt { place: place.shown(), why: format!("its version is {found}") })?;
    match migrate(db, place, from) {
        Ok(()) => Ok(()),
        Err(error) => {
            db.rollback();
            let done = db.has_tables()? && version(db)? == VERSION;
            if done { Ok(()) } else { Err(error) }
        }
    }
}

/// An error unless the tables are of this program's version already, for whoever only reads.
pub(crate) fn is_current(db: &mut dyn Db, place: &Place) -> Result<(), StoreError> {
    let needs_writing = |why: String| Err(StoreError::NeedsWriting { place: place.shown(), why });
    if !db.has_tables()? {
        return needs_writing(
            "its database is empty, or its log (ledger.db-wal) is not beside it".to_owned(),
        );
    }
    match version(db)? {
        VERSION => Ok(()),
        found if found > VERSION => Err(StoreError::Newer { place: place.shown(), found, known: VERSION }),
        found => needs_writing(format!("it is of version {found} and has to be brought to {VERSION} first")),
    }
}

/// The steps from one version to the newest, in one transaction.
fn migrate(db: &mut dyn Db, place: &Place, from: usize) -> Result<(), StoreError> {
    let steps = MIGRATIONS[from..].concat();
    if from == 0 {
        let note = format!("INSERT INTO meta (name, value) VALUES ('version', '{VERSION}');");
        return db.migrate(&format!("BEGIN; {steps} {note} COMMIT;"));
    }
    let key = Key::of(place, db)?;
    let lock = "UPDATE meta SET value = value WHERE name = 'version';";
    let note = format!("UPDATE meta SET value = '{VERSION}' WHERE name = 'version';");
    db.migrate(&format!("BEGIN; {lock} {steps} {note}"))?;
    if from < WITH_SLOTS {
        give_slots(db, &key)?;
    }
    db.migrate("COMMIT")
}

/// Versions before this one knew no slots.
const WITH_SLOTS: usize = 3;

/// Every key that is held gets its slot: no statement of a database makes a keyed hash.
fn give_slots(db: &mut dyn Db, key: &Key) -> Result<(), StoreError> {
    const STEP: i64 = 1_000;
    let mut last = i64::MIN;
    loop {
        let rows = db.query(
            "SELECT id, caller, key FROM calls WHERE id > $1 AND key IS NOT NULL ORDER BY id LIMIT $2",
            &[Param::Int(last), Param::Int(STEP)],
        )?;
        let Some(end) = rows.last() else { return Ok(()) };
        last = end.int(0)?;
        for row in &rows {
            let slot = key.slot(row.text(1)?, row.text(2)?);
            let set = "UPDATE calls SET slot = $1 WHERE id = $2";
            db.execute(set, &[Param::Int(slot), Param::Int(row.int(0)?)])?;
        }
    }
}

fn version(db: &mut dyn Db) -> Result<i64, StoreError> {
    let rows = db.query("SELECT value FROM meta WHERE name = $1", &[Param::Text("version")])?;
    let text = rows.first().map(|row| row.text(0)).transpose()?.unwrap_or("0");
    text.parse().map_err(|_| StoreError::Database(format!("the store's version is {text:?}")))
}

/// A remembered fact about the store.
pub(crate) fn meta(db: &mut dyn Db, name: &str) -> Result<Option<String>, StoreError> {
    let rows = db.query("SELECT value FROM meta WHERE name = $1", &[Param::Text(name)])?;
    rows.first().map(|row| row.text(0).map(str::to_owned)).transpose()
}

/// Remembers a fact unless one of that name is there already, and says which one counts.
pub(crate) fn meta_once(db: &mut dyn Db, name: &str, value: &str) -> Result<String, StoreError> {
    db.execute(
        "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        &[Param::Text(name), Param::Text(value)],
    )?;
    Ok(meta(db, name)?.unwrap_or_else(|| value.to_owned()))
}
