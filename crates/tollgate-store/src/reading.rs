//! A store that is only looked into: nothing in its folder is made, changed or locked for others.
//!
//! A recording that was put away (an artefact of a build, a backup, a folder of somebody else's) is read as it lies there.
//! What only writing can do is not done: no call of a dead process gets its end, and no older store is migrated.

use std::{path::Path, time::Duration};

use rustix::fs::{Access, access};

use crate::{
    Settings, Store, StoreError,
    db::{Db, Sqlite},
    key::Key,
    place::Place,
    schema,
    store::off_runtime,
};

impl Place {
    /// True when this process may write everything that opening the store writes. Looks, and makes nothing.
    pub fn can_be_written(&self) -> bool {
        let Some(database) = self.database() else { return true };
        let may = |path: &Path, rights| !path.exists() || access(path, rights).is_ok();
        let folders = [self.path(), &self.owners()];
        let files = ["", "-wal", "-shm"].map(|end| beside(&database, end));
        folders.iter().all(|folder| may(folder, Access::WRITE_OK | Access::EXEC_OK))
            && files.iter().all(|file| may(file, Access::WRITE_OK))
    }

    /// A connection that writes nothing.
    pub(crate) fn connect_to_read(&self, patience: Duration) -> Result<Box<dyn Db>, StoreError> {
        match self.database() {
            Some(file) => Ok(Box::new(Sqlite::open_to_read(&file, &self.owners(), patience)?)),
            None => self.connect(patience),
        }
    }
}

impl Store {
    /// Opens a store that is there to look into it. Whatever would write is refused as closed.
    pub fn open_to_read(place: Place) -> Result<Self, StoreError> {
        off_runtime(|| {
            let patience = Settings::default().patience();
            let mut db = place.connect_to_read(patience)?;
            schema::is_current(&mut *db, &place)?;
            let key = Key::to_read(&place, &mut *db)?;
            Ok(Self::only_reading(place, key, db, patience))
        })
    }
}

/// A file that SQLite keeps beside a database.
pub(crate) fn beside(database: &Path, end: &str) -> std::path::PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// How a database that cannot be written is opened.
pub(crate) enum Lies {
    /// Everything is in the one file, and nobody works on it.
    Still,
    /// A part of it is in the log; the index beside the log says which.
    WithItsLog,
}

impl Lies {
    /// Looks at the files. Without the index, only somebody who can write can tell what of the log counts.
    pub(crate) fn of(database: &Path) -> Result<Self, StoreError> {
        let size = |end| beside(database, end).metadata().ok().map(|file| file.len());
        match (size("-wal"), size("-shm")) {
            (Some(_), Some(_)) => Ok(Self::WithItsLog),
            (None | Some(0), _) => Ok(Self::Still),
            (Some(_), None) => Err(StoreError::NeedsWriting {
                place: database.display().to_string(),
                why: "its latest records are in the log beside it (-wal), and the index of the log (-shm) is missing"
                    .to_owned(),
            }),
        }
    }

    /// The address SQLite opens it by.
    pub(crate) fn address(&self, database: &Path) -> String {
        let path = database.to_string_lossy();
        let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        match self {
            // Where files cannot be made, SQLite wants to be told that nobody else changes this one.
            Self::Still => format!("file:{path}?mode=ro&immutable=1"),
            Self::WithItsLog => format!("file:{path}?mode=ro&readonly_shm=1"),
        }
    }
}
