//! L3: bubblewrap gives the command a file system, a process table and a network of its own; seccomp closes the rest.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Seek as _, Write as _},
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::fs::MemfdFlags;

use super::{
    Confined, Walls, calls, inner,
    placeholder::{self, Placeholder},
    places::{self, Kind},
};
use crate::process::Wrapper;

/// Where distributions put it. No folder of a project is searched.
const PROGRAMS: [&str; 2] = ["/usr/bin/bwrap", "/bin/bwrap"];

/// A bubble for one command.
#[derive(Debug)]
pub(super) struct Bubble {
    program: PathBuf,
    walls: Walls,
    /// The program that puts Landlock on inside.
    inner: Option<PathBuf>,
    /// The filter for bubblewrap to read, under a number the command inherits.
    filter: File,
    /// The names of the placeholders, so that git takes none for a file of the project.
    ignored: Option<File>,
    _placeholders: Vec<Placeholder>,
}

/// Where the bubble has those names.
const IGNORED: &str = "/dev/.tollgate-ignored";

/// The program, where it is installed.
pub(super) fn program() -> Option<PathBuf> {
    PROGRAMS.iter().map(PathBuf::from).find(|path| path.exists())
}

impl Bubble {
    pub(super) fn new(walls: Walls, inner: Option<&Path>) -> io::Result<Self> {
        let program = program().ok_or_else(|| io::Error::other("bubblewrap is not installed"))?;
        let mut bytes = Vec::new();
        for instruction in calls::filter(walls.confined, walls.network)? {
            bytes.extend(instruction.code.to_ne_bytes());
            bytes.extend([instruction.jt, instruction.jf]);
            bytes.extend(instruction.k.to_ne_bytes());
        }
        let filter = handed("tollgate-seccomp", &bytes)?;
        let placeholders = match walls.confined {
            Confined::Writing => missing(&walls.roots)?,
            Confined::Reading => Vec::new(),
        };
        let ignored = ignored(&walls.roots, &placeholders)?;
        let inner = inner.map(Path::to_owned);
        Ok(Self { program, walls, inner, filter, ignored, _placeholders: placeholders })
    }

    fn options(&self) -> Vec<OsString> {
        let Walls { roots, readable, writable, hidden, confined, network } = &self.walls;
        let mut words = Words::default();
        words.say(&[&"--die-with-parent", &"--unshare-pid", &"--unshare-ipc", &"--unshare-uts"]);
        words.say(&[&"--unshare-cgroup-try", &"--unshare-user-try", &"--cap-drop", &"ALL"]);
        if !network {
            words.say(&[&"--unshare-net"]);
        }
        let system = places::PROGRAMS.iter().chain(places::SETTINGS);
        for place in system.filter(|place| !matches!(**place, "/proc" | "/sys")) {
            match std::fs::read_link(place) {
                Ok(target) if place.matches('/').count() == 1 => words.say(&[&"--symlink", &target, place]),
                _ => words.say(&[&"--ro-bind-try", place, place]),
            }
        }
        // The shared memory of `--dev` is a folder of this bubble alone; what is written there is gone with it.
        words.say(&[
            &"--proc",
            &"/proc",
            &"--dev",
            &"/dev",
            &"--tmpfs",
            &"/tmp",
            &"--setenv",
            &"TMPDIR",
            &"/tmp",
        ]);
        for place in &places::tool_chains() {
            words.say(&[&"--ro-bind", place, place]);
        }
        for place in readable {
            words.say(&[&"--ro-bind-try", place, place]);
        }
        let own = if *confined == Confined::Reading { "--ro-bind" } else { "--bind" };
        for place in writable {
            words.say(&[&format!("{own}-try"), place, place]);
        }
        for root in roots {
            words.say(&[&own, root, root]);
        }
        if *confined == Confined::Writing {
            let closed = hidden.closed.iter().filter(|path| path.exists()).cloned();
            let closed: Vec<PathBuf> = roots.iter().flat_map(|root| protected(root)).chain(closed).collect();
            for path in above(&closed, roots).chain(above(&hidden.found, roots)) {
                words.say(&[&"--bind", &path, &path]);
            }
            for path in closed {
                words.say(&[&"--ro-bind", &path, &path]);
            }
        }
        for path in &hidden.found {
            match path.symlink_metadata() {
                Ok(about) if about.is_dir() => words.say(&[&"--tmpfs", path, &"--remount-ro", path]),
                Ok(about) if about.is_symlink() => {}
                Ok(_) => words.say(&[&"--ro-bind", &"/dev/null", path]),
                // Gone since: nothing to hide.
                Err(_) => {}
            }
        }
        for path in &hidden.own {
            // Where nothing can be written, what is not there cannot be made.
            if *confined == Confined::Writing || path.is_dir() {
                words.say(&[&"--tmpfs", path, &"--remount-ro", path]);
            }
        }
        if let Some(ignored) = &self.ignored {
            words.say(&[&"--file", &ignored.as_raw_fd().to_string(), &IGNORED]);
            for (name, value) in [("COUNT", "1"), ("KEY_0", "core.excludesFile"), ("VALUE_0", IGNORED)] {
                words.say(&[&"--setenv", &format!("GIT_CONFIG_{name}"), &value]);
            }
        }
        if let Some(program) = &self.inner {
            words.say(&[&"--ro-bind", program, &inner::PLACE]);
        }
        words.say(&[&"--seccomp", &self.filter.as_raw_fd().to_string(), &"--"]);
        if self.inner.is_some() {
            words.0.extend(inner::words(&self.walls));
        }
        words.0
    }
}

/// Words of a command line.
#[derive(Debug, Default)]
struct Words(Vec<OsString>);

impl Words {
    fn say(&mut self, parts: &[&dyn AsRef<OsStr>]) {
        self.0.extend(parts.iter().map(|part| part.as_ref().to_owned()));
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

/// A file in memory that the program of the bubble inherits.
fn handed(name: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create(name, MemfdFlags::empty())?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// The placeholders as git writes what it ignores, from the top of the repository.
fn ignored(roots: &[PathBuf], placeholders: &[Placeholder]) -> io::Result<Option<File>> {
    let below = |path: &Path| roots.iter().find_map(|root| path.strip_prefix(root).ok().map(Path::to_owned));
    let names: String = placeholders
        .iter()
        .filter_map(|one| below(one.path()))
        .map(|path| format!("/{}\n", path.display()))
        .collect();
    (!names.is_empty()).then(|| handed("tollgate-ignored", names.as_bytes())).transpose()
}

/// Protected places of a root that are there. A link is followed by nobody: what it leads to is held where that is.
fn protected(root: &Path) -> impl Iterator<Item = PathBuf> {
    let names = places::PROTECTED.iter().map(|(name, _)| *name);
    let all = names.chain(places::PROTECTED_WHERE_THERE.iter().copied());
    let root = root.to_owned();
    all.map(move |name| root.join(name))
        .filter(|path| path.symlink_metadata().is_ok_and(|about| !about.is_symlink()))
}

/// The folders between these places and the roots. Each is mounted on itself, and so stays where it is: with its name it
/// would take along what is kept in it.
fn above<'a>(places: &'a [PathBuf], roots: &'a [PathBuf]) -> impl Iterator<Item = PathBuf> + use<'a> {
    let inside =
        |folder: &&Path| roots.iter().any(|root| folder.starts_with(root) && *folder != root.as_path());
    let folders =
        places.iter().flat_map(move |place| place.ancestors().skip(1).take_while(inside).map(Path::to_owned));
    folders.collect::<BTreeSet<_>>().into_iter()
}

/// Puts something in the place of what is not there yet, where its folder is.
fn missing(roots: &[PathBuf]) -> io::Result<Vec<Placeholder>> {
    let mut made = Vec::new();
    for root in roots {
        for (name, kind) in places::PROTECTED {
            let path = root.join(name);
            let Some(above) = path.parent() else { continue };
            let put = if above.ends_with(".github") {
                // The folder of a workflow is not made before its own; so that one stands for it. Nothing is put into
                // one of ours: it would be nobody's any more.
                match Placeholder::put(above, Kind::Folder) {
                    Ok(None) => Placeholder::put(&path, *kind),
                    stands => stands,
                }
            } else if above.is_dir() {
                Placeholder::put(&path, *kind)
            } else {
                continue;
            };
            match put {
                Ok(put) => made.extend(put),
                // Where we may not write, the command may not either.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(made)
}

/// Takes away what commands left in these roots whose program did not end well.
pub(super) fn sweep(roots: &[PathBuf]) {
    for root in roots {
        for (name, kind) in places::PROTECTED {
            placeholder::sweep(&root.join(name), *kind);
        }
        placeholder::sweep(&root.join(".github"), Kind::Folder);
    }
}
