//! Why a store cannot do its work, in words that say what to do.

use std::{path::PathBuf, time::Duration};

/// What went wrong with a store. Always with a way on: [`StoreError::hint`].
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A newer program made or migrated it.
    #[error("the store {place} is of version {found}; this program knows versions up to {known}")]
    Newer {
        /// Where it is.
        place: String,
        /// Its version.
        found: i64,
        /// The newest this program knows.
        known: i64,
    },
    /// Not a database, or a damaged one.
    #[error("the store {place} is damaged: {why}")]
    Corrupt {
        /// Where it is.
        place: String,
        /// What the database says.
        why: String,
    },
    /// The machine does not let us read or write it.
    #[error("the store {} cannot be used: {source}", path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What the machine said.
        source: std::io::Error,
    },
    /// No room left.
    #[error("there is no room left for the store {place}")]
    Full {
        /// Where it is.
        place: String,
    },
    /// The file system is read-only.
    #[error("the store {place} is on a disk, or in a file, that cannot be written")]
    ReadOnly {
        /// Where it is.
        place: String,
    },
    /// It can only be read where it can be written too.
    #[error("the store {place} cannot be written, and so it cannot be read: {why}")]
    NeedsWriting {
        /// Where it is.
        place: String,
        /// What would have to be written first.
        why: String,
    },
    /// The store's key file is not the one its records were made with.
    #[error("the key of the store {place} is missing or another one; its records were made with the first")]
    Key {
        /// Where it is.
        place: String,
    },
    /// A key from outside that is none.
    #[error("the key given for the store is not 64 hexadecimal digits")]
    BadKey,
    /// The server cannot be reached the way the URL asks for.
    #[error("the connection to {place} is not safe: {why}")]
    Tls {
        /// Where it is.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Another process kept the store locked for too long.
    #[error("the store {place} is busy: another process has held it for longer than {waited:?}")]
    Busy {
        /// Where it is.
        place: String,
        /// How long we waited.
        waited: Duration,
    },
    /// The database said something else.
    #[error("the store failed: {0}")]
    Database(String),
    /// This process was taken for dead by another one, because it stood still for longer than its lease.
    #[error(
        "this process stood still for longer than its lease, and its open calls were taken for unfinished"
    )]
    Fenced,
    /// The writer of this store has ended.
    #[error("the store is closed")]
    Closed,
    /// The records that wait to be written take all the room there is, because writing fails.
    #[error("the store cannot write ({why}), and its queue is full")]
    Stuck {
        /// Why writing fails.
        why: String,
    },
    /// A place that names no store.
    #[error("`{0}` does not name a store")]
    BadPlace(String),
    /// This build has no PostgreSQL.
    #[error("this build of the store has no PostgreSQL side")]
    NoPostgres,
}

/// Why writing fails at the moment, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// What is wrong.
    pub why: String,
    /// What to do.
    pub hint: &'static str,
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "update this program, or set TOLLGATE_HOME to another folder.",
            Self::Corrupt { .. } => {
                "move the file `ledger.db` (with its -wal and -shm) aside and keep it; a new one is made on the next start."
            }
            Self::Io { .. } => {
                "give your user this folder with mode 0700 and its files with 0600, or set TOLLGATE_HOME."
            }
            Self::Full { .. } => "free some room; with a little of it, `tollgate trace prune` makes more.",
            Self::ReadOnly { .. } => "set TOLLGATE_HOME to a folder that can be written, or use --no-store.",
            Self::NeedsWriting { .. } => {
                "copy the whole folder to where you can write, and set TOLLGATE_HOME to the copy."
            }
            Self::Key { .. } => {
                "put the file `store.key` back or give the key it was made with (TOLLGATE_STORE_KEY_FILE), or move `ledger.db` aside to begin a new store."
            }
            Self::BadKey => "make one with `openssl rand -hex 32`, and keep it where the store is not.",
            Self::Tls { .. } => {
                "give the server a certificate your system trusts or name its root with sslrootcert=FILE; sslmode=disable sends everything in the clear."
            }
            Self::Busy { .. } => "see which process uses the store, and end it if it hangs.",
            Self::Fenced => "look up what the unfinished calls did before repeating them.",
            Self::Stuck { .. } | Self::Database(_) => "`tollgate doctor` says what is wrong with the store.",
            Self::Closed => "open the store again.",
            Self::BadPlace(_) => "name a folder, or a URL as postgres://user@host/database.",
            Self::NoPostgres => "build tollgate-store with the feature `postgres`.",
        }
    }

    /// The same error for another one who waited for the same write.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Full { place } => Self::Full { place: place.clone() },
            Self::ReadOnly { place } => Self::ReadOnly { place: place.clone() },
            Self::Corrupt { place, why } => Self::Corrupt { place: place.clone(), why: why.clone() },
            Self::Busy { place, waited } => Self::Busy { place: place.clone(), waited: *waited },
            Self::Fenced => Self::Fenced,
            Self::Closed => Self::Closed,
            other => Self::Database(other.to_string()),
        }
    }
}
