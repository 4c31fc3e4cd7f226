//! SQLite, embedded: one file, write-ahead log, every commit synced.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use rustix::fs::{Access, FlockOperation, access, flock};

use super::{
    Db, Durability, Param, Row,
    values::{bind, cell, tell},
};
use crate::{
    StoreError,
    place::make_private,
    reading::{Lies, beside},
};

/// Pages the log may have before they are put into the database. Whoever opens the store reads the whole log: a short
/// one opens fast. A process that writes much keeps a longer one, because each time costs two syncs and the same page
/// is written only once, and tidies up when it leaves.
const SHORT_LOG: i64 = 400;
const LONG_LOG: i64 = 4_096;
const BUSY: u32 = 64;

/// Statements kept ready.
const PREPARED: usize = 64;

pub(crate) struct Sqlite {
    connection: Connection,
    file: PathBuf,
    /// How long a writer waits for another process's transaction.
    patience: Duration,
    sync: Durability,
    /// What the file said when it was last asked whether others write.
    seen: i64,
    commits: u32,
    /// Where living owners hold a lock each; the kernel lets go of it when they end, however they end.
    marks: PathBuf,
    held: HashMap<i64, File>,
}

impl Sqlite {
    /// Opens the file, and makes it where there is none, for this user alone.
    pub(crate) fn open(file: &Path, marks: &Path, patience: Duration) -> Result<Self, StoreError> {
        private_file(file)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut sqlite = Self::over(Connection::open_with_flags(file, flags), file, marks, patience)?;
        sqlite.prepare()?;
        Ok(sqlite)
    }

    /// Opens a file that is there to read it. Makes and changes nothing, in its folder neither.
    pub(crate) fn open_to_read(file: &Path, marks: &Path, patience: Duration) -> Result<Self, StoreError> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let address = Lies::of(file)?.address(file);
        let connection = Connection::open_with_flags(address, flags).and_then(|connection| {
            connection.busy_timeout(patience)?;
            connection.set_prepared_statement_cache_capacity(PREPARED);
            Ok(connection)
        });
        Self::over(connection, file, marks, patience)
    }

    fn over(
        connection: rusqlite::Result<Connection>,
        file: &Path,
        marks: &Path,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            connection: connection.map_err(|error| tell(file, patience, &error))?,
            file: file.to_owned(),
            patience,
            sync: Durability::Full,
            seen: 0,
            commits: 0,
            marks: marks.to_owned(),
            held: HashMap::new(),
        })
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        let c = &self.connection;
        let set = || {
            c.busy_timeout(self.patience)?;
            c.set_prepared_statement_cache_capacity(PREPARED);
            c.pragma_update(None, "journal_mode", "wal")?;
            c.pragma_update(None, "synchronous", "full")?;
            c.pragma_update(None, "foreign_keys", "off")?;
            c.pragma_update(None, "cache_size", -8_000)?;
            c.pragma_update(None, "wal_autocheckpoint", SHORT_LOG)?;
            // Whoever closes last would wait for the disk; the next one to write enough does it instead.
            c.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
        };
        set().map_err(|error| self.tell(&error))
    }

    fn mark_of(&self, owner: i64) -> PathBuf {
        self.marks.join(owner.to_string())
    }

    fn tell(&self, error: &rusqlite::Error) -> StoreError {
        tell(&self.file, self.patience, error)
    }
}

/// Makes the file, readable by this user alone, before SQLite would make it for everyone, and takes the rights of others
/// from it and from its log.
///
/// A file that is there is not opened: closing it again would let go of every lock that this process has on it, and
/// another program that closed the database then would take itself for the last one and put the log away.
fn private_file(file: &Path) -> Result<(), StoreError> {
    let place = || file.display().to_string();
    let fault = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { place: place() },
        std::io::ErrorKind::StorageFull => StoreError::Full { place: place() },
        _ => StoreError::Io { path: file.to_owned(), source },
    };
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(fault(error)),
    }
    access(file, Access::READ_OK | Access::WRITE_OK).map_err(|errno| fault(errno.into()))?;
    for end in ["", "-wal", "-shm"] {
        match make_private(&beside(file, end)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(error)),
            _ => {}
        }
    }
    Ok(())
}

impl Db for Sqlite {
    fn begin(&mut self, sync: Durability) -> Result<(), StoreError> {
        if self.sync != sync {
            let word = if sync == Durability::Full { "full" } else { "normal" };
            self.connection.pragma_update(None, "synchronous", word).map_err(|error| self.tell(&error))?;
            self.sync = sync;
        }
        self.execute("BEGIN IMMEDIATE", &[]).map(drop)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.execute("COMMIT", &[])?;
        self.commits += 1;
        if self.commits == BUSY {
            let longer = self.connection.pragma_update(None, "wal_autocheckpoint", LONG_LOG);
            longer.map_err(|error| self.tell(&error))?;
        }
        Ok(())
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.execute("ROLLBACK", &[]);
        }
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            bind(&mut statement, params)?;
            statement.raw_execute()
        };
        run().map(|rows| rows as u64).map_err(|error| self.tell(&error))
    }

    fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            bind(&mut statement, params)?;
            let columns = statement.column_count();
            let mut rows = statement.raw_query();
            let mut answer = Vec::new();
            while let Some(row) = rows.next()? {
                let cells = (0..columns).map(|at| row.get_ref(at).map(cell)).collect::<Result<_, _>>()?;
                answer.push(Row(cells));
            }
            Ok(answer)
        };
        run().map_err(|error| self.tell(&error))
    }

    fn migrate(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| self.tell(&error))
    }

    fn has_tables(&mut self) -> Result<bool, StoreError> {
        let found = self.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'", &[])?;
        Ok(!found.is_empty())
    }

    fn hold(&mut self, owner: i64) -> Result<(), StoreError> {
        let path = self.mark_of(owner);
        let fault = |source| StoreError::Io { path: path.clone(), source };
        let mark = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mark = mark.map_err(fault)?;
        flock(&mark, FlockOperation::NonBlockingLockExclusive).map_err(|errno| fault(errno.into()))?;
        self.held.insert(owner, mark);
        Ok(())
    }

    fn is_gone(&mut self, owner: i64) -> Result<bool, StoreError> {
        if self.held.contains_key(&owner) {
            return Ok(false);
        }
        match File::open(self.mark_of(owner)) {
            Ok(mark) => Ok(flock(&mark, FlockOperation::NonBlockingLockExclusive).is_ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
            Err(source) => Err(StoreError::Io { path: self.mark_of(owner), source }),
        }
    }

    fn release(&mut self, owner: i64) {
        self.held.remove(&owner);
        let _ = std::fs::remove_file(self.mark_of(owner));
    }

    fn changed_elsewhere(&mut self) -> Result<bool, StoreError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0));
        let version = version.map_err(|error| self.tell(&error))?;
        let changed = version != self.seen;
        self.seen = version;
        Ok(changed)
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let said = self.query("PRAGMA integrity_check(1)", &[])?;
        match said.first().map(|row| row.text(0)).transpose()? {
            Some("ok") => Ok(()),
            why => Err(StoreError::Corrupt {
                place: self.file.display().to_string(),
                why: why.unwrap_or("it says nothing about itself").replace('\n', " "),
            }),
        }
    }

    fn shrink(&mut self) -> Result<(), StoreError> {
        let count = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (free, pages) = count("freelist_count")
            .and_then(|free| count("page_count").map(|pages| (free, pages)))
            .map_err(|error| self.tell(&error))?;
        if free > 256 && free > pages / 4 {
            self.connection.execute_batch("VACUUM").map_err(|error| self.tell(&error))?;
            self.tidy();
        }
        Ok(())
    }

    fn tidy(&mut self) {
        // Another process that reads or writes at this moment will do it in its turn.
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let _ = self.connection.pragma_query(None, "wal_checkpoint(truncate)", |_| Ok(()));
        let _ = self.connection.busy_timeout(self.patience);
    }

    fn size(&mut self) -> Result<i64, StoreError> {
        let size = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        size("page_count")
            .and_then(|pages| size("page_size").map(|bytes| pages * bytes))
            .map_err(|error| self.tell(&error))
    }
}
