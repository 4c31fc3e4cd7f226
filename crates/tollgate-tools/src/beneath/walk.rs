//! Where a path really leads: every link followed by hand, on handles, until it ends inside a root or not.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt as _},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{self, CWD, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};
use tollgate::Scope;

use super::name::{self, BadPath};

/// A place inside a root. Between the root and the place there is no link.
#[derive(Debug, Clone)]
pub struct Place {
    pub(super) root: PathBuf,
    pub(super) root_id: Id,
    pub(super) rel: PathBuf,
}

/// What tells one file from every other.
pub(super) type Id = (u64, u64);

/// Why a path leads to no place of ours.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Astray {
    /// The text is no path.
    #[error("the path cannot be used: {0}")]
    Bad(#[from] BadPath),
    /// It ends outside every root.
    #[error("the path leads outside the roots, to {}", .0.display())]
    Outside(PathBuf),
    /// It crosses into another file system that is mounted inside a root.
    #[error("{} is another file system, mounted inside the roots", .0.display())]
    Mounted(PathBuf),
    /// Its links lead in a circle.
    #[error("the links at {} lead in a circle", .0.display())]
    Loop(PathBuf),
    /// It cannot be followed.
    #[error("{path} cannot be followed: {1}", path = .0.display())]
    Unreadable(PathBuf, Errno),
    /// A root does not exist.
    #[error("the root {path} cannot be opened: {1}", path = .0.display())]
    Root(PathBuf, Errno),
}

/// The kernel's own limit.
const MOST_LINKS: usize = 40;

/// Follows `path` from the working folder of `scope`.
pub fn resolve(scope: &Scope, path: &str) -> Result<Place, Astray> {
    name::check(path)?;
    let roots = existing(scope.roots())?;
    let from = absolute(scope.cwd()).join(path);
    let mut walk = Walk::new(&roots)?;
    let mut todo: VecDeque<OsString> = components(&from).collect();
    while let Some(next) = todo.pop_front() {
        if next == ".." {
            walk.up();
            continue;
        }
        match walk.enter(&next)? {
            Entered::Step => {}
            Entered::Link(target) => {
                if target.is_absolute() {
                    walk.steps.truncate(1);
                }
                components(&target).rev().for_each(|part| todo.push_front(part));
            }
            Entered::Nothing => {
                todo.push_front(next);
                return walk.ends_in_nothing(todo);
            }
        }
    }
    walk.place(&[])
}

impl Place {
    /// The real path, beneath the root as it was declared.
    pub fn path(&self) -> PathBuf {
        if self.rel.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.rel) }
    }

    /// The path from its root; empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.rel
    }

    /// The root it lies beneath, as it was declared.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

struct Root<'a> {
    declared: &'a Path,
    id: Id,
}

/// The roots that are there. One that is missing allows nothing, and takes nothing from the others.
fn existing(declared: &[PathBuf]) -> Result<Vec<Root<'_>>, Astray> {
    let (found, mut missing): (Vec<_>, Vec<_>) =
        declared.iter().map(|root| Root::find(root)).partition(Result::is_ok);
    match missing.pop() {
        Some(Err(missing)) if found.is_empty() => Err(missing),
        _ => Ok(found.into_iter().flatten().collect()),
    }
}

impl<'a> Root<'a> {
    fn find(declared: &'a Path) -> Result<Self, Astray> {
        let stat = fs::stat(declared).map_err(|error| Astray::Root(declared.to_owned(), error))?;
        Ok(Self { declared, id: id(&stat) })
    }
}

struct Walk<'a> {
    roots: &'a [Root<'a>],
    steps: Vec<Step>,
    links: usize,
}

/// A folder or file on the way, held open.
struct Step {
    name: OsString,
    handle: OwnedFd,
    /// The root this is, if it is one.
    root: Option<usize>,
}

enum Entered {
    Step,
    Link(PathBuf),
    Nothing,
}

impl<'a> Walk<'a> {
    fn new(roots: &'a [Root<'a>]) -> Result<Self, Astray> {
        let top = fs::openat(CWD, "/", HANDLE, Mode::empty());
        let top = top.map_err(|error| Astray::Unreadable("/".into(), error))?;
        let mut walk = Self { roots, steps: Vec::new(), links: 0 };
        walk.push(OsString::new(), top)?;
        Ok(walk)
    }

    fn push(&mut self, name: OsString, handle: OwnedFd) -> Result<(), Astray> {
        let stat = fs::fstat(&handle).map_err(|error| Astray::Unreadable(self.path_to(&name), error))?;
        let root = self.roots.iter().position(|root| root.id == id(&stat));
        self.steps.push(Step { name, handle, root });
        Ok(())
    }

    // Above the top there is only the top again.
    fn up(&mut self) {
        if self.steps.len() > 1 {
            self.steps.pop();
        }
    }

    fn enter(&mut self, name: &OsStr) -> Result<Entered, Astray> {
        let Some(here) = self.steps.last() else { return Ok(Entered::Nothing) };
        let inside = self.steps.iter().any(|step| step.root.is_some());
        let opened = if inside {
            fs::openat2(&here.handle, name, HANDLE, Mode::empty(), STAY | ResolveFlags::NO_XDEV)
        } else {
            fs::openat(&here.handle, name, HANDLE, Mode::empty())
        };
        let handle = match opened {
            Ok(handle) => handle,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Entered::Nothing),
            Err(Errno::XDEV) => return self.enter_mount(name),
            Err(Errno::LOOP) => return Err(Astray::Loop(self.path_to(name))),
            Err(Errno::NAMETOOLONG) => return Err(BadPath::TooLong.into()),
            Err(error) => return Err(Astray::Unreadable(self.path_to(name), error)),
        };
        let stat = fs::fstat(&handle).map_err(|error| Astray::Unreadable(self.path_to(name), error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
            let root = self.roots.iter().position(|root| root.id == id(&stat));
            self.steps.push(Step { name: name.to_owned(), handle, root });
            return Ok(Entered::Step);
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Astray::Loop(self.path_to(name)));
        }
        // A link of /proc leads wherever its process happens to be. It is no name for anything inside.
        if fs::fstatfs(&handle).is_ok_and(|about| about.f_type == fs::PROC_SUPER_MAGIC) {
            return Err(Astray::Outside(self.path_to(name)));
        }
        // The text of the link: where that leads, on handles, and not where the kernel would jump to.
        let target = fs::readlinkat(&handle, "", Vec::new());
        let target = target.map_err(|error| Astray::Unreadable(self.path_to(name), error))?;
        Ok(Entered::Link(OsString::from_vec(target.into_bytes()).into()))
    }

    /// A mounted file system is entered only where it is a root of its own.
    fn enter_mount(&mut self, name: &OsStr) -> Result<Entered, Astray> {
        let path = self.path_to(name);
        let Some(here) = self.steps.last() else { return Ok(Entered::Nothing) };
        let handle = fs::openat(&here.handle, name, HANDLE, Mode::empty())
            .map_err(|error| Astray::Unreadable(path.clone(), error))?;
        self.push(name.to_owned(), handle)?;
        match self.steps.last() {
            Some(Step { root: Some(_), .. }) => Ok(Entered::Step),
            _ => Err(Astray::Mounted(path)),
        }
    }

    /// The rest does not exist. What it names is judged by its text, which no link can change.
    fn ends_in_nothing(mut self, rest: VecDeque<OsString>) -> Result<Place, Astray> {
        let mut missing: Vec<OsString> = Vec::new();
        let mut climbed = false;
        for part in rest {
            if part != ".." {
                missing.push(part);
                continue;
            }
            climbed = true;
            if missing.pop().is_none() {
                self.up();
            }
        }
        let place = self.place(&missing)?;
        if climbed { Err(BadPath::UpFromNowhere.into()) } else { Ok(place) }
    }

    fn place(&self, missing: &[OsString]) -> Result<Place, Astray> {
        let Some(at) = self.steps.iter().rposition(|step| step.root.is_some()) else {
            return Err(Astray::Outside(missing.iter().fold(self.path(), |path, name| path.join(name))));
        };
        let root = self.steps[at].root.and_then(|root| self.roots.get(root));
        let Some(root) = root else { return Err(Astray::Outside(self.path())) };
        let below = self.steps[at + 1..].iter().map(|step| &step.name).chain(missing);
        Ok(Place { root: root.declared.to_owned(), root_id: root.id, rel: below.collect() })
    }

    fn path(&self) -> PathBuf {
        self.steps.iter().fold(PathBuf::from("/"), |path, step| path.join(&step.name))
    }

    fn path_to(&self, name: &OsStr) -> PathBuf {
        self.path().join(name)
    }
}

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const STAY: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

pub(super) fn id(stat: &Stat) -> Id {
    #[allow(clippy::useless_conversion, reason = "the width of both numbers differs between platforms")]
    (stat.st_dev.into(), stat.st_ino.into())
}

fn absolute(cwd: &Path) -> PathBuf {
    if cwd.is_absolute() {
        return cwd.to_owned();
    }
    std::env::current_dir().or_else(|_: io::Error| cwd.canonicalize()).unwrap_or_default().join(cwd)
}

fn components(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    parts.collect::<Vec<_>>().into_iter()
}
