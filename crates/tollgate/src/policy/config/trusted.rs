//! Which project files a person trusts, by the hash of their exact content.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
};

use sha2::Digest as _;

use crate::outcome::hex;

/// Whether a project's file may widen anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A person trusts exactly this content.
    Trusted,
    /// A person trusted another content of it.
    Changed,
    /// Nobody ever trusted it.
    Never,
}

/// The hashes a person has trusted, in a file of their own.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: PathBuf,
}

type Hashes = BTreeMap<String, String>;

impl TrustStore {
    /// Kept in this file, which need not exist yet.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// Whether this content of the file is trusted. A store that cannot be read trusts nothing.
    pub fn of(&self, file: &Path, content: &str) -> Trust {
        match self.read().get(&key(file)) {
            Some(hash) if *hash == hash_of(content) => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Never,
        }
    }

    /// Trusts exactly this content of the file.
    pub fn trust(&self, file: &Path, content: &str) -> std::io::Result<()> {
        let _lock = self.lock()?;
        self.trust_locked(file, content)
    }

    pub(super) fn trust_locked(&self, file: &Path, content: &str) -> std::io::Result<()> {
        let mut hashes = self.read();
        hashes.insert(key(file), hash_of(content));
        self.write(&hashes)
    }

    /// Trusts the file no longer; false when it was not.
    pub fn forget(&self, file: &Path) -> std::io::Result<bool> {
        let _lock = self.lock()?;
        let mut hashes = self.read();
        let known = hashes.remove(&key(file)).is_some();
        if known {
            self.write(&hashes)?;
        }
        Ok(known)
    }

    /// Keeps other processes from writing, here and in files whose trust is kept here, until it is dropped.
    pub(super) fn lock(&self) -> std::io::Result<std::fs::File> {
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut name = self.file.clone().into_os_string();
        name.push(".lock");
        let lock = std::fs::File::create(name)?;
        lock.lock()?;
        Ok(lock)
    }

    fn read(&self) -> Hashes {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn write(&self, hashes: &Hashes) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(hashes).map_err(std::io::Error::other)?;
        replace(&self.file, &(text + "\n"))
    }
}

/// A file and every other spelling of it are one.
fn key(file: &Path) -> String {
    file.canonicalize().unwrap_or_else(|_| file.to_owned()).to_string_lossy().into_owned()
}

fn hash_of(content: &str) -> String {
    format!("sha256:{}", hex(&sha2::Sha256::digest(content.as_bytes())))
}

/// Puts a new content in the place of the old one: whoever reads sees one or the other, whole.
pub(super) fn replace(file: &Path, content: &str) -> std::io::Result<()> {
    // Through a link, so that it stays one.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{:x}.new", std::process::id()));
    let written = (|| {
        let mut open = std::fs::File::create(&beside)?;
        open.write_all(content.as_bytes())?;
        if let Ok(known) = file.metadata() {
            open.set_permissions(known.permissions())?;
        }
        open.sync_all()?;
        std::fs::rename(&beside, &file)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}
