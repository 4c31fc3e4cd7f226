//! L3: bubblewrap gives the command a file system, a process table and a network of its own; seccomp closes the rest.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Seek as _, Write as _},
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::fs::MemfdFlags;

use super::{
    Confined, calls,
    places::{self, Kind},
};
use crate::process::Wrapper;

/// Where distributions put it. No folder of a project is searched.
const PROGRAMS: [&str; 2] = ["/usr/bin/bwrap", "/bin/bwrap"];

/// A bubble for one command.
#[derive(Debug)]
pub(super) struct Bubble {
    program: PathBuf,
    roots: Vec<PathBuf>,
    confined: Confined,
    network: bool,
    /// The filter for bubblewrap to read, under a number the command inherits.
    filter: File,
    placeholders: Vec<Placeholder>,
}

/// Something put where a protected place is not yet, so that the command cannot make it. Gone with the command.
#[derive(Debug)]
struct Placeholder {
    path: PathBuf,
    kind: Kind,
}

/// The program, where it is installed.
pub(super) fn program() -> Option<PathBuf> {
    PROGRAMS.iter().map(PathBuf::from).find(|path| path.exists())
}

impl Bubble {
    pub(super) fn new(roots: &[PathBuf], confined: Confined, network: bool) -> io::Result<Self> {
        let program = program().ok_or_else(|| io::Error::other("bubblewrap is not installed"))?;
        let mut filter = File::from(rustix::fs::memfd_create("tollgate-seccomp", MemfdFlags::empty())?);
        for instruction in calls::filter(confined, network)? {
            let mut bytes = Vec::with_capacity(8);
            bytes.extend(instruction.code.to_ne_bytes());
            bytes.extend([instruction.jt, instruction.jf]);
            bytes.extend(instruction.k.to_ne_bytes());
            filter.write_all(&bytes)?;
        }
        filter.rewind()?;
        let mut bubble =
            Self { program, roots: roots.to_vec(), confined, network, filter, placeholders: Vec::new() };
        if confined == Confined::Writing {
            bubble.placeholders = roots.iter().flat_map(|root| missing(root)).collect();
        }
        Ok(bubble)
    }

    fn options(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut say = |parts: &[&dyn AsRef<std::ffi::OsStr>]| {
            words.extend(parts.iter().map(|part| part.as_ref().to_owned()));
        };
        say(&[
            &"--die-with-parent",
            &"--unshare-pid",
            &"--unshare-ipc",
            &"--unshare-uts",
            &"--unshare-cgroup-try",
        ]);
        say(&[&"--unshare-user-try", &"--cap-drop", &"ALL"]);
        if !self.network {
            say(&[&"--unshare-net"]);
        }
        for place in places::PROGRAMS
            .iter()
            .chain(places::SETTINGS)
            .filter(|place| !matches!(**place, "/proc" | "/sys"))
        {
            match std::fs::read_link(place) {
                Ok(target) if place.matches('/').count() == 1 => say(&[&"--symlink", &target, place]),
                _ => say(&[&"--ro-bind-try", place, place]),
            }
        }
        say(&[&"--proc", &"/proc", &"--dev", &"/dev", &"--tmpfs", &"/tmp", &"--setenv", &"TMPDIR", &"/tmp"]);
        // The shared memory of `--dev` is a folder of this bubble alone; what is written there is gone with it.
        for place in places::tool_chains() {
            say(&[&"--ro-bind", &place, &place]);
        }
        let bind = if self.confined == Confined::Reading { "--ro-bind" } else { "--bind" };
        for root in &self.roots {
            say(&[&bind, root, root]);
        }
        if self.confined == Confined::Writing {
            for root in &self.roots {
                for (name, _) in places::PROTECTED {
                    let path = root.join(name);
                    if path.symlink_metadata().is_ok_and(|about| !about.is_symlink()) {
                        say(&[&"--ro-bind", &path, &path]);
                    }
                }
            }
        }
        let number = self.filter.as_raw_fd().to_string();
        say(&[&"--seccomp", &number, &"--"]);
        words
    }
}

impl Wrapper for Bubble {
    fn words(&self, words: Vec<OsString>) -> io::Result<Vec<OsString>> {
        let own = std::iter::once(self.program.clone().into_os_string());
        Ok(own.chain(self.options()).chain(words).collect())
    }

    fn command(&self, command: &mut Command) -> io::Result<()> {
        command.env_remove("TMPDIR");
        Ok(())
    }
}

/// Puts something in the place of what is not there yet, where its folder is.
fn missing(root: &Path) -> Vec<Placeholder> {
    let mut made = Vec::new();
    for (name, kind) in places::PROTECTED {
        let path = root.join(name);
        let above = path.parent().is_some_and(Path::is_dir);
        if !above || path.symlink_metadata().is_ok() {
            continue;
        }
        let done = match kind {
            Kind::File => File::create_new(&path).map(drop),
            Kind::Folder => std::fs::create_dir(&path),
        };
        if done.is_ok() {
            made.push(Placeholder { path, kind: *kind });
        }
    }
    made
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Only what is still empty is ours.
        let _ = match self.kind {
            Kind::Folder => std::fs::remove_dir(&self.path),
            Kind::File => match self.path.symlink_metadata() {
                Ok(about) if about.is_file() && about.len() == 0 => std::fs::remove_file(&self.path),
                _ => Ok(()),
            },
        };
    }
}
