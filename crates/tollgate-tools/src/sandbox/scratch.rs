//! Folders for what commands need for a while: one for the program, in it one for each command, gone with it.

use std::{
    fs::File,
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = "tollgate-scratch-";

/// The folder of one program. Others see by its lock that somebody still uses it.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    next: AtomicU64,
    _held: File,
}

/// The folder of one command.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) folder: PathBuf,
    _program: Arc<Scratch>,
}

impl Scratch {
    /// Makes one, and takes away what programs left that did not end well.
    pub(super) fn make() -> io::Result<Self> {
        let place = std::env::temp_dir();
        sweep(&place);
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let folder = place.join(format!("{PREFIX}{}-{now:x}", std::process::id()));
        make(&folder)?;
        let held = File::open(&folder)?;
        flock(&held, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { folder, next: AtomicU64::new(0), _held: held })
    }

    /// The folder the others are in.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A folder for one command.
    pub(super) fn own(self: &Arc<Self>) -> io::Result<Own> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        make(&folder)?;
        Ok(Own { folder, _program: self.clone() })
    }
}

fn make(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Removes folders of this user that nobody holds any more.
fn sweep(place: &Path) {
    let us = rustix::process::getuid().as_raw();
    let Ok(entries) = std::fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let path = entry.path();
        let is_ours = || path.symlink_metadata().is_ok_and(|about| about.is_dir() && about.uid() == us);
        if !ours || !is_ours() {
            continue;
        }
        let Ok(folder) = File::open(&path) else { continue };
        // One that was made a moment ago may not be locked yet.
        let old = folder
            .metadata()
            .and_then(|about| about.modified())
            .is_ok_and(|made| made.elapsed().is_ok_and(|age| age > std::time::Duration::from_secs(60)));
        if old && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_nobody_holds_is_taken_away_and_one_that_is_held_stays() {
        let place = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let made = |name: &str| {
            let folder = place.path().join(name);
            make(&folder).unwrap();
            std::fs::write(folder.join("file"), "x").unwrap();
            File::open(&folder).unwrap().set_modified(old).unwrap();
            folder
        };
        let (left, held) = (made("tollgate-scratch-1-a"), made("tollgate-scratch-2-b"));
        let other = made("somebody-elses");
        let lock = File::open(&held).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        sweep(place.path());
        assert_eq!((left.exists(), held.exists(), other.exists()), (false, true, true));
    }
}
