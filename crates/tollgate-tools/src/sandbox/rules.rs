//! The Landlock rules of a command: what it may read, run and change. Made once for equal walls, and looked after.

use std::{
    collections::BTreeSet,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::{Confined, Walls, carve, places};
use crate::process::Inside;

/// The oldest Landlock that holds files in full; what is younger is taken where it is there.
const NEEDED: ABI = ABI::V3;
const WANTED: ABI = ABI::V6;
/// So many different walls are remembered.
const REMEMBERED: usize = 8;

/// Rules that were made already.
#[derive(Debug, Default)]
pub(super) struct Made(Mutex<Vec<One>>);

#[derive(Debug)]
struct One {
    walls: Walls,
    extra: Vec<PathBuf>,
    rules: RulesetCreated,
    inside: Inside,
    seen: Vec<Seen>,
}

/// Something as it was when the rules were made: rules are about files, and a name can get another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A place itself, by what it is.
    Place(PathBuf, Option<[i64; 2]>),
    /// A folder of many places, by when a name in it last changed.
    Folder(PathBuf, Option<[i64; 4]>),
}

impl Made {
    /// The rules for these walls, `extra` being places that can be changed whatever the command is; and where a thread
    /// is that has them on, where they may serve once more.
    pub(super) fn rules(
        &self,
        walls: &Walls,
        extra: &[PathBuf],
    ) -> io::Result<(RulesetCreated, Option<Inside>)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|one| one.walls == *walls && one.extra == extra) {
            if all[at].seen.iter().all(Seen::is_still) {
                return Ok((all[at].rules.try_clone()?, Some(all[at].inside)));
            }
            all.remove(at);
        }
        let (rules, seen) = make(walls, extra)?;
        let own = rules.try_clone()?;
        // Around what is hidden, rules name every neighbour; a new one needs new rules.
        if !walls.hidden.is_empty() {
            return Ok((own, None));
        }
        if all.len() == REMEMBERED {
            all.remove(0);
        }
        let inside = Inside::new();
        all.push(One { walls: walls.clone(), extra: extra.to_vec(), rules, inside, seen });
        Ok((own, Some(inside)))
    }
}

impl Seen {
    /// What tells that one of these places is another one: for those of the system the folders they are in, which are
    /// fewer, and themselves where they are links; for all others themselves.
    fn all<'p>(system: impl Iterator<Item = &'p Path>, others: impl Iterator<Item = &'p Path>) -> Vec<Self> {
        let (mut folders, mut places) = (BTreeSet::new(), BTreeSet::new());
        for place in system {
            folders.extend(place.parent());
            if place.is_symlink() {
                places.insert(place);
            }
        }
        places.extend(others);
        let folders = folders.into_iter().map(|path| Self::Folder(path.to_owned(), changed(path)));
        folders.chain(places.into_iter().map(|path| Self::Place(path.to_owned(), identity(path)))).collect()
    }

    fn is_still(&self) -> bool {
        match self {
            Self::Place(path, then) => identity(path) == *then,
            Self::Folder(path, then) => changed(path) == *then,
        }
    }
}

fn identity(path: &Path) -> Option<[i64; 2]> {
    path.metadata().ok().map(|about| [about.dev().cast_signed(), about.ino().cast_signed()])
}

fn changed(path: &Path) -> Option<[i64; 4]> {
    let about = path.metadata().ok()?;
    Some([about.dev().cast_signed(), about.ino().cast_signed(), about.mtime(), about.mtime_nsec()])
}

/// True where the kernel keeps signals inside a command's own processes.
pub(super) fn keeps_signals() -> bool {
    let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
    asked.and_then(Ruleset::create).is_ok()
}

/// The rules, and the places they are about as they are now.
pub(super) fn make(walls: &Walls, extra: &[PathBuf]) -> io::Result<(RulesetCreated, Vec<Seen>)> {
    let looking: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let running = looking | AccessFs::Execute;
    // Absent: making devices.
    let changing = AccessFs::from_all(WANTED) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let own = if walls.confined == Confined::Reading { running } else { changing };
    let chains = places::tool_chains();
    let named =
        |names: &'static [&'static str], access| names.iter().map(move |name| (Path::new(name), access));
    let system: Vec<Opened<'_>> = named(places::PROGRAMS, running)
        .chain(named(places::SETTINGS, looking))
        .chain(named(places::DEVICES, AccessFs::ReadFile | AccessFs::WriteFile))
        .chain(given(&chains, running))
        .collect();
    let others: Vec<Opened<'_>> = given(&walls.readable, running)
        .chain(given(extra, changing))
        .chain(given(&walls.writable, own))
        .chain(given(&walls.roots, own))
        .collect();
    // Before the rules, so that what changes in between is seen the next time.
    let seen = Seen::all(system.iter().map(|(place, _)| *place), others.iter().map(|(place, _)| *place));
    let mut rules = handling(walls.network)?;
    let hidden = if walls.confined == Confined::Reading { walls.hidden.all() } else { Vec::new() };
    for (place, access) in system.into_iter().chain(others) {
        if hidden.iter().any(|one| one.starts_with(place) || place.starts_with(one)) {
            for (place, access) in carve::around(place, &hidden, access, AccessFs::ReadDir.into())? {
                allow(&mut rules, &place, access)?;
            }
        } else {
            allow(&mut rules, place, access)?;
        }
    }
    Ok((rules, seen))
}

type Opened<'p> = (&'p Path, BitFlags<AccessFs>);

fn given(paths: &[PathBuf], access: BitFlags<AccessFs>) -> impl Iterator<Item = Opened<'_>> {
    paths.iter().map(move |path| (path.as_path(), access))
}

/// Rules that allow nothing yet.
fn handling(network: bool) -> io::Result<RulesetCreated> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(io::Error::other)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))
        .map_err(io::Error::other)?
        .scope(Scope::from_all(WANTED))
        .map_err(io::Error::other)?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(WANTED)).map_err(io::Error::other)?;
    }
    // What our own thread is refused when it ends what a command left is nothing to be logged.
    rules.create().and_then(|rules| rules.log_same_exec(false)).map_err(io::Error::other)
}

/// Allows access beneath a place. One that is not there needs no rule.
fn allow(rules: &mut RulesetCreated, place: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
    let Ok(metadata) = place.metadata() else { return Ok(()) };
    let Ok(handle) = PathFd::new(place) else { return Ok(()) };
    let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(WANTED) };
    rules.add_rule(PathBeneath::new(handle, access)).map(drop).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_made_anew_when_a_place_gets_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("etc")).unwrap();
        for name in ["etc/hosts", "root", "target"] {
            std::fs::write(path(name), "").unwrap();
        }
        std::os::unix::fs::symlink(path("target"), path("etc/resolv.conf")).unwrap();
        let replace = |name: &str| {
            std::fs::write(path("new"), "").unwrap();
            std::fs::rename(path("new"), path(name)).unwrap();
        };
        for name in ["etc/hosts", "target", "root"] {
            let system = [path("etc/hosts"), path("etc/resolv.conf")];
            let root = path("root");
            let seen = Seen::all(system.iter().map(PathBuf::as_path), std::iter::once(root.as_path()));
            assert!(seen.iter().all(Seen::is_still));
            replace(name);
            assert!(!seen.iter().all(Seen::is_still), "{name}");
        }
    }
}
