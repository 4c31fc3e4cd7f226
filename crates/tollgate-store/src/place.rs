//! Where a store is: a folder of this user's alone, or a database behind a URL.

use std::{
    fs::{DirBuilder, Permissions},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    StoreError,
    db::{Db, Sqlite},
};

/// Where a store is.
///
/// Results are files in any case, so that a long one does not pass through a database; `folder` says where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
    url: Option<String>,
    key: Option<GivenKey>,
}

/// A key from outside the store. Never shown.
#[derive(Clone, PartialEq, Eq)]
struct GivenKey([u8; 32]);

impl std::fmt::Debug for GivenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a given key")
    }
}

impl Place {
    /// A store in a folder: the database `ledger.db`, the key, and the results.
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), url: None, key: None }
    }

    /// The ledger behind a `postgres://` URL; results stay in `folder`.
    pub fn postgres(url: impl Into<String>, folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let url = url.into();
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            // Never the whole of it: a URL may hold a password.
            return Err(StoreError::BadPlace(url.chars().take_while(|c| *c != '@').take(12).collect()));
        }
        if cfg!(not(feature = "postgres")) {
            return Err(StoreError::NoPostgres);
        }
        Ok(Self { folder: folder.into(), url: Some(url), key: None })
    }

    /// The same place, its records keyed with this key, 64 hexadecimal digits, which the store itself never holds: then
    /// nobody who can only read and write the store can forge the chain. A store keeps to the key it was made with.
    pub fn keyed(mut self, key: &str) -> Result<Self, StoreError> {
        self.key = Some(GivenKey(crate::key::unhex(key.trim()).ok_or(StoreError::BadKey)?));
        Ok(self)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Where results are kept.
    pub fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    /// The database file, where there is one.
    pub fn database(&self) -> Option<PathBuf> {
        self.url.is_none().then(|| self.folder.join("ledger.db"))
    }

    /// Whether something is there already. Opening makes what is not, and says why it cannot look at what may be.
    pub fn exists(&self) -> bool {
        self.database().is_none_or(|file| file.try_exists().unwrap_or(true))
    }

    /// For messages; never with a password.
    pub(crate) fn shown(&self) -> String {
        match &self.url {
            Some(_) => "behind the postgres URL".to_owned(),
            None => self.folder.display().to_string(),
        }
    }

    pub(crate) fn given_key(&self) -> Option<[u8; 32]> {
        self.key.as_ref().map(|key| key.0)
    }

    pub(crate) fn key_file(&self) -> Option<PathBuf> {
        self.url.is_none().then(|| self.folder.join("store.key"))
    }

    pub(crate) fn owners(&self) -> PathBuf {
        self.folder.join("owners")
    }

    /// A connection. The folders are made first, for this user alone.
    pub(crate) fn connect(&self, patience: Duration) -> Result<Box<dyn Db>, StoreError> {
        private_folder(&self.folder)?;
        match &self.url {
            #[cfg(feature = "postgres")]
            Some(url) => Ok(Box::new(crate::db::Postgres::connect(url, patience)?)),
            #[cfg(not(feature = "postgres"))]
            Some(_) => Err(StoreError::NoPostgres),
            None => {
                private_folder(&self.owners())?;
                Ok(Box::new(Sqlite::open(&self.folder.join("ledger.db"), &self.owners(), patience)?))
            }
        }
    }
}

/// Takes the rights of others from a file that has them.
pub(crate) fn make_private(file: &Path) -> std::io::Result<()> {
    if std::fs::metadata(file)?.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(file, Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Makes a folder with mode 0700, and takes the rights of others from one that has them.
pub(crate) fn private_folder(folder: &Path) -> Result<(), StoreError> {
    let fault = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly { place: folder.display().to_string() }
        }
        std::io::ErrorKind::StorageFull => StoreError::Full { place: folder.display().to_string() },
        _ => StoreError::Io { path: folder.to_owned(), source },
    };
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => {
            if found.permissions().mode() & 0o077 != 0 {
                std::fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(fault)?;
            }
            Ok(())
        }
        Ok(_) => Err(fault(std::io::Error::from(std::io::ErrorKind::NotADirectory))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fault)
        }
        Err(error) => Err(fault(error)),
    }
}
