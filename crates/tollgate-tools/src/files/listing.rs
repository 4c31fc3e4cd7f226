//! The entries of a folder, in order and bounded, on handles: links are named and never followed.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

use rustix::fs::{self, AtFlags, Dir, Mode, OFlags};

use crate::{
    beneath::{Kind, Trouble, inside, kind_of, shown},
    blocking::Stop,
};

/// What is shown of a folder, and how much is not.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) text: String,
    pub(crate) shown: usize,
    pub(crate) left_out: usize,
}

/// The most entries that are shown of one folder and everything below.
pub(crate) const MOST: usize = 2_000;
pub(crate) const DEEPEST: u32 = 16;

/// Lists a folder down to `depth`, each level sorted by name.
pub(crate) fn list(folder: &OwnedFd, depth: u32, stop: &Stop) -> Result<Listing, Trouble> {
    let mut listing = Listing::default();
    level(folder, depth.min(DEEPEST), 0, &mut listing, stop)?;
    Ok(listing)
}

fn level(
    folder: &OwnedFd,
    depth: u32,
    indent: usize,
    into: &mut Listing,
    stop: &Stop,
) -> Result<(), Trouble> {
    for name in names(folder)? {
        if stop.is_set() {
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        }
        if into.shown >= MOST {
            into.left_out += 1;
            continue;
        }
        into.shown += 1;
        let stat = fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW);
        let _ = write!(into.text, "{:indent$}{}", "", shown(&name), indent = indent * 2);
        let kind = match &stat {
            Ok(stat) => kind_of(stat),
            Err(_) => {
                into.text.push_str("  (gone)\n");
                continue;
            }
        };
        match kind {
            Kind::Folder => into.text.push('/'),
            Kind::File => {
                let _ = write!(into.text, "  {} bytes", stat.map_or(0, |stat| stat.st_size));
            }
            Kind::Link => match fs::readlinkat(folder, &name, Vec::new()) {
                Ok(target) => {
                    let _ = write!(into.text, " -> {}", shown(OsStr::from_bytes(target.as_bytes())));
                }
                Err(_) => into.text.push_str(" -> ?"),
            },
            other => {
                let _ = write!(into.text, "  ({})", other.words());
            }
        }
        into.text.push('\n');
        if kind == Kind::Folder && depth > 1 {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            match inside(folder, Path::new(&name), flags, Mode::empty()) {
                Ok(below) => level(&below, depth - 1, indent + 1, into, stop)?,
                Err(error) => {
                    let _ = writeln!(into.text, "{:1$}(cannot be opened: {error})", "", (indent + 1) * 2);
                }
            }
        }
    }
    Ok(())
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: impl AsFd) -> Result<Vec<OsString>, Trouble> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}
