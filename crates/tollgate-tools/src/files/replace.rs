//! One change of one file: locked against every other, all or nothing, read back and verified.

use std::{
    io::{Read as _, Write as _},
    os::fd::{AsFd as _, OwnedFd},
    path::PathBuf,
    time::Duration,
};

use rustix::{
    fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags},
    io::Errno,
};
use tollgate::outcome::Evidence;

use super::attributes::{Lost, keep_attributes, keep_owner};
use crate::{
    beneath::{Held, Opened, Trouble, inside, open_file, random_name},
    blocking::Stop,
};

/// What stands at a place, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct Standing {
    /// The file; `None` when there is none.
    pub(crate) now: Option<Now>,
}

/// A file as it stands.
#[derive(Debug)]
pub(crate) struct Now {
    opened: Opened,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: String,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotDone {
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// Somebody else was faster.
    #[error("it was changed at the same moment by something else")]
    Raced,
    #[error("it is locked by another program")]
    Locked,
    #[error("it is read-only")]
    ReadOnly,
    #[error("it has {0} bytes, too large to be changed in one piece")]
    TooLarge(u64),
    #[error("it belongs to another user, and would be yours after the change")]
    Owner,
    #[error("its attribute `{0}` cannot be kept")]
    Attribute(String),
    #[error("the call was stopped")]
    Stopped,
    /// The change happened, and what is there now is not it.
    #[error("what was written is not what is there now")]
    NotVerified,
}

impl From<Errno> for NotDone {
    fn from(error: Errno) -> Self {
        Self::Trouble(error.into())
    }
}

impl From<Lost> for NotDone {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Owner => Self::Owner,
            Lost::Attribute(name) => Self::Attribute(name),
        }
    }
}

impl From<std::io::Error> for NotDone {
    fn from(error: std::io::Error) -> Self {
        Self::Trouble(error.into())
    }
}

/// The largest file that is changed.
const LARGEST: u64 = 256 << 20;
/// How often, and how long at most, a lock is waited for.
const WAIT: Duration = Duration::from_millis(1);
const PATIENCE: u32 = 10_000;

/// Looks at a place and locks what is there, against other calls and other processes.
///
/// The lock is on the file itself. Whoever replaces a file locks the new one before it takes the name, so that one who
/// waited on the old one finds a locked one in its place.
pub(crate) fn lock(held: &Held, stop: &Stop) -> Result<Standing, NotDone> {
    let mut left = PATIENCE;
    loop {
        let opened = match held.open() {
            Ok(opened) => opened,
            Err(Trouble::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Standing { now: None });
            }
            Err(trouble) => return Err(trouble.into()),
        };
        match fs::flock(&opened.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                left = pause(left, stop)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        match held.open() {
            Ok(again) if again.id() == opened.id() => return Ok(Standing { now: Some(Now::read(opened)?) }),
            // Replaced or removed while we waited: what is there now is what counts.
            Ok(_) => {}
            Err(Trouble::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
}

fn pause(left: u32, stop: &Stop) -> Result<u32, NotDone> {
    if stop.is_set() {
        return Err(NotDone::Stopped);
    }
    let left = left.checked_sub(1).ok_or(NotDone::Locked)?;
    std::thread::sleep(WAIT);
    Ok(left)
}

impl Now {
    fn read(mut opened: Opened) -> Result<Self, NotDone> {
        if opened.len() > LARGEST {
            return Err(NotDone::TooLarge(opened.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(opened.len()).unwrap_or_default());
        (&mut opened.file).take(LARGEST + 1).read_to_end(&mut bytes)?;
        // What was read belongs to the file as it is now, should it have been written to since it was opened.
        opened.stat = fs::fstat(&opened.file)?;
        let hash = Evidence::of(&bytes).as_str().to_owned();
        Ok(Self { opened, bytes, hash })
    }

    /// The permissions of the file.
    pub(crate) fn mode(&self) -> u32 {
        self.opened.stat.st_mode & 0o7777
    }

    /// True where nobody may write to it, whatever the folder allows.
    pub(crate) fn is_read_only(&self) -> bool {
        self.mode() & 0o222 == 0
    }
}

/// A change that is ready: a new file beside the old one, complete, locked and flushed.
#[derive(Debug)]
pub(crate) struct Ready<'a> {
    held: &'a Held,
    dir: OwnedFd,
    temp: String,
    file: std::fs::File,
    done: bool,
    /// Folders that had to be made.
    pub(crate) made: Vec<PathBuf>,
}

/// Writes the new content beside the old one. Nothing is visible under the name yet.
pub(crate) fn prepare<'a>(
    held: &'a Held,
    standing: &Standing,
    bytes: &[u8],
    mode: Option<u32>,
) -> Result<Ready<'a>, NotDone> {
    if standing.now.as_ref().is_some_and(Now::is_read_only) {
        return Err(NotDone::ReadOnly);
    }
    let (dir, made) = held.parent()?;
    let temp = random_name();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let first = if standing.now.is_some() { 0o600 } else { 0o666 };
    let file = inside(&dir, temp.as_ref(), flags, Mode::from_raw_mode(first))?;
    let mut ready = Ready { held, dir, temp, file: file.into(), done: false, made };
    ready.file.write_all(bytes)?;
    if let Some(now) = &standing.now {
        keep_owner(&ready.file, &now.opened.stat)?;
        keep_attributes(&ready.file, &now.opened.file)?;
    }
    if let Some(mode) = mode.or(standing.now.as_ref().map(Now::mode)) {
        fs::fchmod(&ready.file, Mode::from_raw_mode(mode))?;
    }
    ready.file.sync_data()?;
    fs::flock(&ready.file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(ready)
}

impl Ready<'_> {
    /// Puts the new file in place of the old one, if that is still the one that was looked at, and reads it back.
    pub(crate) fn commit(mut self, standing: &Standing, bytes: &[u8], stop: &Stop) -> Result<(), NotDone> {
        if stop.is_set() {
            return Err(NotDone::Stopped);
        }
        let name = self.held.name();
        match &standing.now {
            Some(now) => {
                let seen = &now.opened.stat;
                let stat = fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(gone)?;
                let same = (stat.st_dev, stat.st_ino, stat.st_size)
                    == (seen.st_dev, seen.st_ino, seen.st_size)
                    && (stat.st_ctime, stat.st_ctime_nsec) == (seen.st_ctime, seen.st_ctime_nsec);
                if !same {
                    return Err(NotDone::Raced);
                }
                fs::renameat(&self.dir, &*self.temp, &self.dir, name)?;
            }
            None => create(&self.dir, &self.temp, name)?,
        }
        self.done = true;
        // From here on the change has happened: whatever goes wrong leaves it unverified and not undone.
        let mut read = Vec::with_capacity(bytes.len());
        let back = open_file(self.dir.as_fd(), name).ok().map(|mut back| back.file.read_to_end(&mut read));
        if matches!(back, Some(Ok(_))) && read == bytes { Ok(()) } else { Err(NotDone::NotVerified) }
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::unlinkat(&self.dir, &*self.temp, AtFlags::empty());
            for folder in self.made.iter().rev() {
                let _ = remove_folder(self.held, folder);
            }
        }
    }
}

/// Gives the new file its name, unless something has it.
fn create(dir: &OwnedFd, temp: &str, name: &std::ffi::OsStr) -> Result<(), NotDone> {
    match fs::renameat_with(dir, temp, dir, name, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(NotDone::Raced),
        // Not every file system can rename without replacing; each can link without replacing.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::linkat(dir, temp, dir, name, AtFlags::empty()).map_err(|error| match error {
                Errno::EXIST => NotDone::Raced,
                error => error.into(),
            })?;
            fs::unlinkat(dir, temp, AtFlags::empty())?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Takes a file away, if it is still the one that was looked at.
pub(crate) fn remove(held: &Held, standing: &Standing) -> Result<(), NotDone> {
    let Some(now) = &standing.now else { return Ok(()) };
    let (dir, _) = held.parent()?;
    let stat = fs::statat(&dir, held.name(), AtFlags::SYMLINK_NOFOLLOW).map_err(gone)?;
    let seen = &now.opened.stat;
    if (stat.st_dev, stat.st_ino, stat.st_ctime_nsec) != (seen.st_dev, seen.st_ino, seen.st_ctime_nsec) {
        return Err(NotDone::Raced);
    }
    Ok(fs::unlinkat(&dir, held.name(), AtFlags::empty())?)
}

/// Removes an empty folder of the place's root; one that is not empty stays.
pub(crate) fn remove_folder(held: &Held, rel: &std::path::Path) -> Result<(), NotDone> {
    let (dir, name) = held.folder_above(rel)?;
    Ok(fs::unlinkat(&dir, name, AtFlags::REMOVEDIR)?)
}

fn gone(error: Errno) -> NotDone {
    if error == Errno::NOENT { NotDone::Raced } else { error.into() }
}
