//! Something in the place of a protected file that is not there yet, so that a command cannot make it.
//!
//! It is told from a file of somebody else's by being empty and by its time, and from one that is still needed by a
//! lock. So commands share one, the last takes it away, and what a program left that did not end well is swept up when the
//! next one starts.

use std::{
    fs::{File, FileTimes, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::fs::{FlockOperation, flock};

use super::places::Kind;

/// The time no file of anybody's has: an odd moment of the first day there was. Whole seconds, which every disk keeps.
const TIME: Duration = Duration::from_secs(70_798);
/// Another command may make one, or take one away, in the very moment it is found.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// A placeholder that is needed as long as this lives.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    kind: Kind,
    held: File,
}

impl Placeholder {
    /// Puts one there, or shares the one that is. `None` where something of somebody else's is.
    pub(super) fn put(path: &Path, kind: Kind) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
            match path.symlink_metadata() {
                Ok(about) if !is_ours(path, kind) => {
                    let used = match kind {
                        Kind::File => about.len() > 0,
                        Kind::Folder => !is_empty(path),
                    };
                    if used || !is_fresh(&about) {
                        return Ok(None);
                    }
                    // It may be one that is just being made.
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => match make(path, kind) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                },
                Err(error) => return Err(error),
            }
            let Ok(held) = File::open(path) else { continue };
            flock(&held, FlockOperation::LockShared)?;
            // It may have been taken away while we waited.
            let still = path.symlink_metadata().is_ok_and(|there| {
                held.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
            });
            if still {
                return Ok(Some(Self { path: path.to_owned(), kind, held }));
            }
        }
        // Whatever it is, it is there, and not ours to take away.
        Ok(None)
    }
}

impl Placeholder {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Takes away one that nobody needs any more. Anything else stays.
pub(super) fn sweep(path: &Path, kind: Kind) {
    if !is_ours(path, kind) {
        return;
    }
    if let Ok(held) = File::open(path) {
        drop(Placeholder { path: path.to_owned(), kind, held });
    }
}

fn make(path: &Path, kind: Kind) -> io::Result<()> {
    let made = match kind {
        Kind::File => OpenOptions::new().write(true).create_new(true).mode(0o400).open(path)?,
        Kind::Folder => {
            std::fs::DirBuilder::new().mode(0o500).create(path)?;
            File::open(path)?
        }
    };
    made.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + TIME))
}

fn is_fresh(about: &std::fs::Metadata) -> bool {
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(about.ctime().max(0).cast_unsigned());
    changed.elapsed().is_ok_and(|age| age < Duration::from_secs(1))
}

/// Empty, and with our time.
fn is_ours(path: &Path, kind: Kind) -> bool {
    let Ok(about) = path.symlink_metadata() else { return false };
    let time = about.modified().is_ok_and(|time| time == SystemTime::UNIX_EPOCH + TIME);
    let empty = || match kind {
        Kind::File => about.is_file() && about.len() == 0,
        Kind::Folder => about.is_dir() && is_empty(path),
    };
    time && empty()
}

fn is_empty(folder: &Path) -> bool {
    folder.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Whoever else needs it holds the lock too, and is the last one then.
        if flock(&self.held, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_ours(&self.path, self.kind)
        {
            let _ = match self.kind {
                Kind::File => std::fs::remove_file(&self.path),
                Kind::Folder => std::fs::remove_dir(&self.path),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_who_needs_it_takes_it_away() {
        let folder = tempfile::tempdir().unwrap();
        for (name, kind) in [(".mcp.json", Kind::File), (".vscode", Kind::Folder)] {
            let path = folder.path().join(name);
            let one = Placeholder::put(&path, kind).unwrap().unwrap();
            let other = Placeholder::put(&path, kind).unwrap().unwrap();
            drop(one);
            assert!(path.exists(), "{name} is still needed");
            drop(other);
            assert!(!path.exists(), "{name} is nobody's");
        }
    }

    #[test]
    fn what_a_program_left_that_did_not_end_well_goes_with_the_next_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".envrc");
        make(&path, Kind::File).unwrap();
        drop(Placeholder::put(&path, Kind::File).unwrap().unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_nobody_needs_is_swept_and_what_somebody_needs_or_owns_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (left, held, own) =
            (folder.path().join(".vscode"), folder.path().join(".envrc"), folder.path().join(".idea"));
        make(&left, Kind::Folder).unwrap();
        let needed = Placeholder::put(&held, Kind::File).unwrap().unwrap();
        std::fs::create_dir(&own).unwrap();
        for path in [&left, &own] {
            sweep(path, Kind::Folder);
        }
        sweep(&held, Kind::File);
        assert!(!left.exists() && held.exists() && own.exists());
        drop(needed);
        assert!(!held.exists());
    }

    #[test]
    fn a_file_of_somebody_elses_stays_even_when_it_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let (file, dir) = (folder.path().join(".envrc"), folder.path().join(".idea"));
        std::fs::write(&file, "").unwrap();
        std::fs::create_dir(&dir).unwrap();
        assert!(Placeholder::put(&file, Kind::File).unwrap().is_none());
        assert!(Placeholder::put(&dir, Kind::Folder).unwrap().is_none());
        assert!(file.exists() && dir.exists());
    }
}
