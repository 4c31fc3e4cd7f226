//! L2: Landlock and seccomp on the thread that starts the command, which hands them down to everything that comes of it.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use seccompiler::BpfProgram;

use super::{Confined, calls, places};
use crate::process::Wrapper;

/// The oldest Landlock that holds files in full; what is younger is taken where it is there.
const NEEDED: ABI = ABI::V3;
const WANTED: ABI = ABI::V6;

/// Rules for one command.
#[derive(Debug)]
pub(super) struct Ruled {
    roots: Vec<PathBuf>,
    confined: Confined,
    network: bool,
    filters: Arc<[BpfProgram; 2]>,
    scratch: Option<Scratch>,
}

/// A folder for what a command needs for a while. Gone with the command.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Ruled {
    pub(super) fn new(roots: &[PathBuf], confined: Confined, network: bool) -> io::Result<Self> {
        let scratch = (confined == Confined::Writing).then(Scratch::make).transpose()?;
        let filters = filters(confined, network)?;
        Ok(Self { roots: roots.to_vec(), confined, network, filters, scratch })
    }

    fn rules(&self) -> io::Result<RulesetCreated> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(NEEDED))
            .map_err(io::Error::other)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(WANTED))
            .map_err(io::Error::other)?
            .scope(Scope::from_all(WANTED))
            .map_err(io::Error::other)?;
        if !self.network {
            rules = rules.handle_access(AccessNet::from_all(WANTED)).map_err(io::Error::other)?;
        }
        let mut rules = rules.create().map_err(io::Error::other)?;
        let reading = AccessFs::from_read(WANTED);
        let running = reading | AccessFs::Execute;
        let looking: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
        for place in places::PROGRAMS {
            allow(&mut rules, Path::new(place), running)?;
        }
        for place in places::SETTINGS {
            allow(&mut rules, Path::new(place), looking)?;
        }
        for place in places::DEVICES {
            allow(&mut rules, Path::new(place), AccessFs::ReadFile | AccessFs::WriteFile)?;
        }
        for place in places::tool_chains() {
            allow(&mut rules, &place, running)?;
        }
        let own = match self.confined {
            Confined::Reading => running,
            // Absent: making devices.
            Confined::Writing => AccessFs::from_all(WANTED) & !(AccessFs::MakeChar | AccessFs::MakeBlock),
        };
        for root in &self.roots {
            allow(&mut rules, root, own)?;
        }
        if let Some(scratch) = &self.scratch {
            allow(
                &mut rules,
                &scratch.0,
                AccessFs::from_all(WANTED) & !(AccessFs::MakeChar | AccessFs::MakeBlock),
            )?;
        }
        Ok(rules)
    }
}

impl Wrapper for Ruled {
    fn command(&self, command: &mut Command) -> io::Result<()> {
        if let Some(scratch) = &self.scratch {
            command.env("TMPDIR", &scratch.0);
        }
        Ok(())
    }

    fn enter(&self) -> io::Result<()> {
        give_up_powers()?;
        let status = self.rules()?.restrict_self().map_err(io::Error::other)?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err(io::Error::other("Landlock does not hold"));
        }
        self.filters.iter().try_for_each(|filter| seccompiler::apply_filter(filter).map_err(io::Error::other))
    }
}

/// The filters, made once for each kind of command.
fn filters(confined: Confined, network: bool) -> io::Result<Arc<[BpfProgram; 2]>> {
    type Made = OnceLock<Arc<[BpfProgram; 2]>>;
    static MADE: [Made; 4] = [const { OnceLock::new() }; 4];
    let made = &MADE[usize::from(confined == Confined::Reading) * 2 + usize::from(network)];
    if let Some(filters) = made.get() {
        return Ok(filters.clone());
    }
    let filters = Arc::new([calls::filter(confined, network)?, calls::without_clone3()?]);
    Ok(made.get_or_init(|| filters).clone())
}

/// Root keeps what it needs to work with files of others, and nothing that reaches other processes or the machine.
fn give_up_powers() -> io::Result<()> {
    let keep = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::SETUID
        | CapabilitySet::SETGID;
    let has = capabilities(None)?;
    if has.permitted.is_empty() {
        return Ok(());
    }
    for power in CapabilitySet::all().difference(keep).iter() {
        // One that this kernel does not know is one nobody has.
        if capability_is_in_bounding_set(power).unwrap_or(false) {
            remove_capability_from_bounding_set(power)?;
        }
    }
    let rest = has.permitted & keep;
    let sets = CapabilitySets { effective: rest, permitted: rest, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

/// Allows access beneath a place. One that is not there needs no rule.
fn allow(rules: &mut RulesetCreated, place: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
    let Ok(metadata) = place.metadata() else { return Ok(()) };
    let Ok(handle) = PathFd::new(place) else { return Ok(()) };
    let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(WANTED) };
    rules.add_rule(PathBeneath::new(handle, access)).map(drop).map_err(io::Error::other)
}

impl Scratch {
    fn make() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let folder = std::env::temp_dir().join(format!("tollgate-{}-{now:x}-{number}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
