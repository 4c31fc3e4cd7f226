//! The Landlock rules of a command: what it may read, run and change. Made once for equal walls, and looked after.

use std::{
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
    seen: Vec<Seen>,
}

/// A place as it was when the rule about it was made: rules are about files, and a name can get another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    path: PathBuf,
    file: Option<(u64, u64)>,
}

impl Made {
    /// The rules for these walls, `extra` being places that can be changed whatever the command is.
    pub(super) fn rules(&self, walls: &Walls, extra: &[PathBuf]) -> io::Result<RulesetCreated> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|one| one.walls == *walls && one.extra == extra) {
            if all[at].seen.iter().all(Seen::is_still) {
                return all[at].rules.try_clone();
            }
            all.remove(at);
        }
        let (rules, seen) = make(walls, extra)?;
        let own = rules.try_clone()?;
        // Around what is hidden, rules name every neighbour; a new one needs new rules.
        if walls.hidden.is_empty() {
            if all.len() == REMEMBERED {
                all.remove(0);
            }
            all.push(One { walls: walls.clone(), extra: extra.to_vec(), rules, seen });
        }
        Ok(own)
    }
}

impl Seen {
    fn now(path: PathBuf) -> Self {
        let file = path.metadata().ok().map(|about| (about.dev(), about.ino()));
        Self { path, file }
    }

    fn is_still(&self) -> bool {
        self.path.metadata().ok().map(|about| (about.dev(), about.ino())) == self.file
    }
}

/// True where the kernel keeps signals inside a command's own processes.
pub(super) fn keeps_signals() -> bool {
    let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
    asked.and_then(Ruleset::create).is_ok()
}

/// The rules, and the places they are about as they are now.
pub(super) fn make(walls: &Walls, extra: &[PathBuf]) -> io::Result<(RulesetCreated, Vec<Seen>)> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(io::Error::other)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))
        .map_err(io::Error::other)?
        .scope(Scope::from_all(WANTED))
        .map_err(io::Error::other)?;
    if !walls.network {
        rules = rules.handle_access(AccessNet::from_all(WANTED)).map_err(io::Error::other)?;
    }
    let mut rules = rules.create().map_err(io::Error::other)?;
    let looking: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let running = looking | AccessFs::Execute;
    // Absent: making devices.
    let changing = AccessFs::from_all(WANTED) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let own = if walls.confined == Confined::Reading { running } else { changing };
    let named = |names: &'static [&'static str], access| names.iter().map(move |name| (name.into(), access));
    let given =
        |paths: &[PathBuf], access| paths.iter().map(|path| (path.clone(), access)).collect::<Vec<_>>();
    let mut places: Vec<(PathBuf, BitFlags<AccessFs>)> = named(places::PROGRAMS, running)
        .chain(named(places::SETTINGS, looking))
        .chain(named(places::DEVICES, AccessFs::ReadFile | AccessFs::WriteFile))
        .chain(given(&places::tool_chains(), running))
        .chain(given(&walls.readable, running))
        .chain(given(extra, changing))
        .collect();
    let open = given(&walls.writable, own).into_iter().chain(given(&walls.roots, own));
    if walls.confined == Confined::Reading && !walls.hidden.is_empty() {
        let hidden = walls.hidden.all();
        for (place, _) in open {
            places.extend(carve::around(&place, &hidden, running, AccessFs::ReadDir.into())?);
        }
    } else {
        places.extend(open);
    }
    let mut seen = Vec::with_capacity(places.len());
    for (place, access) in places {
        allow(&mut rules, &place, access)?;
        seen.push(Seen::now(place));
    }
    Ok((rules, seen))
}

/// Allows access beneath a place. One that is not there needs no rule.
fn allow(rules: &mut RulesetCreated, place: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
    let Ok(metadata) = place.metadata() else { return Ok(()) };
    let Ok(handle) = PathFd::new(place) else { return Ok(()) };
    let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(WANTED) };
    rules.add_rule(PathBeneath::new(handle, access)).map(drop).map_err(io::Error::other)
}
