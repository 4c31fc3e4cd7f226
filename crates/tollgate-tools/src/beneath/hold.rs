//! A place held open: the folder it lies in, as a handle, so that what was judged is what is worked on.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    hash::BuildHasher as _,
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{self, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};

use super::walk::{Id, Place, id};

/// A place whose folder is held open.
#[derive(Debug)]
pub struct Held {
    place: Place,
    /// The deepest folder on the way that exists.
    dir: OwnedFd,
    dir_rel: PathBuf,
    /// Folders between it and the name that are still to be made.
    missing: Vec<OsString>,
    /// The last part of the path; empty for the root itself.
    name: OsString,
}

/// A regular file, open for reading, that has no other name.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    pub(crate) stat: Stat,
}

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link that appeared where there was none.
    Link,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

/// Why a place cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The folder is not the one that was judged.
    #[error("its folder was moved or replaced since the call was checked")]
    Moved,
    /// The file has other names, which may lie anywhere.
    #[error("the file has {0} names (hard links), so it counts as outside")]
    Linked(u64),
    /// Something else than what was asked for.
    #[error("it is {}", .0.words())]
    Is(Kind),
    /// The disk says no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl Held {
    /// Opens the folder of a place.
    pub(crate) fn of(place: Place) -> Result<Self, Trouble> {
        let root = open_root(&place)?;
        let Some(name) = place.rel.file_name().map(OsStr::to_owned) else {
            let (dir_rel, missing, name) = (PathBuf::new(), Vec::new(), OsString::new());
            return Ok(Self { place, dir: root, dir_rel, missing, name });
        };
        let parent = place.rel.parent().unwrap_or(Path::new(""));
        let (mut dir, mut dir_rel, mut missing) = (root, PathBuf::new(), Vec::new());
        for part in parent.components() {
            if !missing.is_empty() {
                missing.push(part.as_os_str().to_owned());
                continue;
            }
            match inside(&dir, part.as_ref(), FOLDER, Mode::empty()) {
                Ok(next) => {
                    dir = next;
                    dir_rel.push(part);
                }
                Err(Errno::NOENT) => missing.push(part.as_os_str().to_owned()),
                Err(Errno::LOOP | Errno::XDEV) => return Err(Trouble::Moved),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self { place, dir, dir_rel, missing, name })
    }

    /// The real path.
    pub fn path(&self) -> PathBuf {
        self.place.path()
    }

    /// The place.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What stands there now; `None` when nothing does.
    pub fn kind(&self) -> Result<Option<Kind>, Trouble> {
        if self.name.is_empty() {
            return Ok(Some(Kind::Folder));
        }
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind_of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// That the file there has no second name, which may lie outside.
    pub(super) fn lone(&self) -> Result<(), Trouble> {
        match fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => judged(stat).map(drop),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The regular file there, open for reading. Never waits for a pipe, never opens a device.
    pub fn open(&self) -> Result<Opened, Trouble> {
        self.is_still_there()?;
        if self.name.is_empty() {
            return Err(Trouble::Is(Kind::Folder));
        }
        if !self.missing.is_empty() {
            return Err(Errno::NOENT.into());
        }
        open_file(&self.dir, &self.name)
    }

    /// The folder there, open for listing.
    pub fn folder(&self) -> Result<OwnedFd, Trouble> {
        self.is_still_there()?;
        match self.kind()? {
            Some(Kind::Folder) => {}
            Some(other) => return Err(Trouble::Is(other)),
            None => return Err(Errno::NOENT.into()),
        }
        let name = if self.name.is_empty() { OsStr::new(".") } else { &self.name };
        inside(&self.dir, name.as_ref(), LISTED, Mode::empty()).map_err(swapped)
    }

    /// The folder the name is in, made where it does not exist, and the folders that had to be made.
    pub(crate) fn parent(&self) -> Result<(OwnedFd, Vec<PathBuf>), Trouble> {
        self.is_still_there()?;
        let mut dir = inside(&self.dir, Path::new("."), LISTED, Mode::empty())?;
        let mut rel = self.dir_rel.clone();
        let mut made = Vec::new();
        for name in &self.missing {
            rel.push(name);
            match fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(rel.clone()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            // A link that was put there meanwhile is not followed: nothing is made on its other side.
            dir = inside(&dir, name.as_ref(), LISTED, Mode::empty()).map_err(swapped)?;
        }
        Ok((dir, made))
    }

    /// The folder the name is in, where it exists.
    pub(crate) fn existing_parent(&self) -> Option<OwnedFd> {
        let here = || inside(&self.dir, Path::new("."), LISTED, Mode::empty()).ok();
        self.missing.is_empty().then(here).flatten()
    }

    /// The folder that holds another path of the same root, and that path's last part.
    pub(crate) fn folder_above<'a>(&self, rel: &'a Path) -> Result<(OwnedFd, &'a OsStr), Trouble> {
        let root = open_root(&self.place)?;
        let above = rel.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = inside(&root, above, FOLDER, Mode::empty()).map_err(swapped)?;
        Ok((dir, rel.file_name().unwrap_or_default()))
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// True when the path still leads to the folder that is held.
    fn is_still_there(&self) -> Result<(), Trouble> {
        let root = open_root(&self.place)?;
        let rel = if self.dir_rel.as_os_str().is_empty() { Path::new(".") } else { &self.dir_rel };
        let now = inside(&root, rel, FOLDER, Mode::empty()).map_err(|_| Trouble::Moved)?;
        let same = id(&fs::fstat(&now)?) == id(&fs::fstat(&self.dir)?);
        if same { Ok(()) } else { Err(Trouble::Moved) }
    }
}

/// How often a file that is being replaced is looked at anew.
const LOOKS: u32 = 100;

/// Opens a regular file of a folder for reading, after a look at what it is.
pub(crate) fn open_file(dir: impl AsFd, name: &OsStr) -> Result<Opened, Trouble> {
    for _ in 0..LOOKS {
        let handle = inside(dir.as_fd(), name.as_ref(), HANDLE, Mode::empty()).map_err(swapped)?;
        let looked = judged(fs::fstat(&handle)?)?;
        let file = inside(dir.as_fd(), name.as_ref(), READ, Mode::empty()).map_err(swapped)?;
        let stat = judged(fs::fstat(&file)?)?;
        // Replaced between the look and the opening: another look.
        if id(&looked) == id(&stat) {
            return Ok(Opened { file: file.into(), stat });
        }
    }
    Err(Trouble::Moved)
}

impl Opened {
    /// How long it is.
    pub fn len(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn id(&self) -> (u64, u64) {
        id(&self.stat)
    }
}

fn judged(stat: Stat) -> Result<Stat, Trouble> {
    match kind_of(&stat) {
        #[allow(clippy::useless_conversion, reason = "the width of the count differs between platforms")]
        Kind::File if u64::from(stat.st_nlink) > 1 => Err(Trouble::Linked(stat.st_nlink.into())),
        Kind::File => Ok(stat),
        other => Err(Trouble::Is(other)),
    }
}

fn open_root(place: &Place) -> Result<OwnedFd, Trouble> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = fs::openat(CWD, &place.root, flags, Mode::empty())?;
    let same: Id = id(&fs::fstat(&root)?);
    if same == place.root_id { Ok(root) } else { Err(Trouble::Moved) }
}

/// Opens `path` beneath `dir`, through no link of any kind and into no other file system.
pub(crate) fn inside(dir: impl AsFd, path: &Path, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    let stay = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    // A handle of the link itself is wanted by nobody who names a place without links.
    let stay = if flags.contains(HANDLE) { stay - ResolveFlags::NO_SYMLINKS } else { stay };
    fs::openat2(dir, path, flags, mode, stay)
}

pub(crate) const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
pub(crate) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// A link where there was none is a swap.
fn swapped(error: Errno) -> Trouble {
    if matches!(error, Errno::LOOP | Errno::XDEV) { Trouble::Moved } else { error.into() }
}

pub(crate) fn kind_of(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        _ => Kind::Device,
    }
}

impl Kind {
    /// In words, with an article.
    pub fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}

/// A name nobody else has, for a file on its way to its own.
pub(crate) fn random_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let random = std::hash::RandomState::new().hash_one(NEXT.fetch_add(1, Ordering::Relaxed));
    format!(".tollgate-{}-{random:016x}.tmp", std::process::id())
}
