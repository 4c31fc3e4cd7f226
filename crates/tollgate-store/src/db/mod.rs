//! The little that both databases are asked for, in one tongue: the same SQL, the same four kinds of values.

use crate::StoreError;

mod sqlite;
mod values;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod tls;

#[cfg(feature = "postgres")]
pub(crate) use postgres::Postgres;
pub(crate) use sqlite::Sqlite;

/// One connection. Used by one thread at a time, and blocks it.
pub(crate) trait Db: Send {
    /// Begins a transaction that no other writer of this store has beside it.
    fn begin(&mut self, sync: Durability) -> Result<(), StoreError>;

    /// Ends it; durable when it returns, where that was asked for.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Ends it as if it had never been.
    fn rollback(&mut self);

    /// Runs one statement and says how many rows it touched. Parameters are `$1` … in order of first use.
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError>;

    /// Runs one query.
    fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError>;

    /// Runs the statements of a migration.
    fn migrate(&mut self, sql: &str) -> Result<(), StoreError>;

    /// True when the tables were made.
    fn has_tables(&mut self) -> Result<bool, StoreError>;

    /// Holds the mark of a living owner until this connection, or this process, ends.
    fn hold(&mut self, owner: i64) -> Result<(), StoreError>;

    /// True when the owner's mark is held by no living process.
    fn is_gone(&mut self, owner: i64) -> Result<bool, StoreError>;

    /// Forgets the mark of an owner that has ended.
    fn release(&mut self, owner: i64);

    /// True when the connection is lost and a new one is needed.
    fn is_lost(&self) -> bool {
        false
    }

    /// False when it is certain that no other connection has written since it was last asked.
    fn changed_elsewhere(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Whether the database itself is whole: every page readable, every index the same as its table. The server of a
    /// database that has one sees to that.
    fn check(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Gives room that is free inside the database back to the disk, where there is much of it.
    fn shrink(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Puts what waits in a log beside the database into it: whoever opens it next has less to read.
    fn tidy(&mut self) {}

    /// Bytes the database takes.
    fn size(&mut self) -> Result<i64, StoreError>;
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// For the disk: what was written survives the machine's end.
    Full,
    /// For nothing: what was written survives this process's end, and the machine's once the next full one is done.
    Lazy,
}

/// A value that goes in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// A value that comes out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
    Null,
}

/// One row of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row(pub(crate) Vec<Cell>);

impl Row {
    pub(crate) fn int(&self, at: usize) -> Result<i64, StoreError> {
        match self.0.get(at) {
            Some(Cell::Int(number)) => Ok(*number),
            other => Err(odd(at, other)),
        }
    }

    pub(crate) fn is_null(&self, at: usize) -> bool {
        matches!(self.0.get(at), Some(Cell::Null) | None)
    }

    pub(crate) fn text(&self, at: usize) -> Result<&str, StoreError> {
        match self.0.get(at) {
            Some(Cell::Text(text)) => Ok(text),
            other => Err(odd(at, other)),
        }
    }

    pub(crate) fn blob(&self, at: usize) -> Result<&[u8], StoreError> {
        match self.0.get(at) {
            Some(Cell::Blob(bytes)) => Ok(bytes),
            // SQLite keeps what a hand from outside wrote as it came; the chain tells whether it was changed.
            Some(Cell::Text(text)) => Ok(text.as_bytes()),
            other => Err(odd(at, other)),
        }
    }
}

fn odd(at: usize, cell: Option<&Cell>) -> StoreError {
    let what = match cell {
        Some(Cell::Int(_)) => "a number",
        Some(Cell::Text(_)) => "a text",
        Some(Cell::Blob(_)) => "bytes",
        Some(Cell::Null) | None => "nothing",
    };
    StoreError::Database(format!("column {at} holds {what}, which is not what was written there"))
}

/// Runs `work` in a lazy transaction of its own.
pub(crate) fn in_transaction<T>(
    db: &mut dyn Db,
    work: impl FnOnce(&mut dyn Db) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    db.begin(Durability::Lazy)?;
    match work(db).and_then(|done| db.commit().map(|()| done)) {
        Ok(done) => Ok(done),
        Err(error) => {
            db.rollback();
            Err(error)
        }
    }
}
