//! L2: Landlock and seccomp on the thread that starts the command, which hands them down to everything that comes of it.

use std::{
    io,
    path::PathBuf,
    process::Command,
    sync::{Arc, OnceLock},
};

use landlock::{RulesetCreated, RulesetStatus};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use seccompiler::BpfProgram;

use super::{Confined, Kept, Walls, calls, scratch::Own};
use crate::process::{Inside, Wrapper};

/// Rules for one command.
#[derive(Debug)]
pub(super) struct Ruled {
    rules: RulesetCreated,
    inside: Option<Inside>,
    filter: Arc<BpfProgram>,
    scratch: Option<Own>,
    survivors: Survivors,
}

/// What becomes of a process that left the command's group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Survivors {
    /// Signals stay among the command's own processes, so one to everybody meets exactly those.
    End,
    /// It cannot be told from others.
    Stay,
}

impl Ruled {
    pub(super) fn new(walls: &Walls, kept: &Kept, survivors: Survivors) -> io::Result<Self> {
        let scratch = match walls.confined {
            Confined::Writing => Some(kept.scratch()?.own()?),
            Confined::Reading => None,
        };
        let extra: Vec<PathBuf> = match walls.confined {
            Confined::Writing => vec![kept.scratch()?.folder().to_owned()],
            Confined::Reading => Vec::new(),
        };
        let (rules, inside) = kept.rules.rules(walls, &extra)?;
        Ok(Self { rules, inside, filter: filter(walls.confined, walls.network)?, scratch, survivors })
    }
}

impl Wrapper for Ruled {
    fn command(&self, command: &mut Command) -> io::Result<()> {
        if let Some(scratch) = &self.scratch {
            command.env("TMPDIR", &scratch.folder);
        }
        Ok(())
    }

    fn holds_terminal(&self) -> bool {
        // The rules open five devices, and no terminal is one of them.
        true
    }

    fn enter(&self) -> io::Result<()> {
        give_up_powers(self.survivors)?;
        let status = self.rules.try_clone()?.restrict_self().map_err(io::Error::other)?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err(io::Error::other("Landlock does not hold"));
        }
        seccompiler::apply_filter(&self.filter).map_err(io::Error::other)
    }

    fn inside(&self) -> Option<Inside> {
        self.inside
    }

    fn leave(&self) {
        if self.survivors == Survivors::End {
            // From this thread, which the same rules hold: everybody is whoever the command left, in whatever session.
            let everybody = nix::unistd::Pid::from_raw(-1);
            // The only fault there can be is that nobody is left.
            let _ = nix::sys::signal::kill(everybody, nix::sys::signal::Signal::SIGKILL);
        }
    }
}

/// The filter, made once for each kind of command.
fn filter(confined: Confined, network: bool) -> io::Result<Arc<BpfProgram>> {
    static MADE: [OnceLock<Arc<BpfProgram>>; 4] = [const { OnceLock::new() }; 4];
    let made = &MADE[usize::from(confined == Confined::Reading) * 2 + usize::from(network)];
    if let Some(filter) = made.get() {
        return Ok(filter.clone());
    }
    let filter = Arc::new(calls::filter(confined, network)?);
    Ok(made.get_or_init(|| filter).clone())
}

/// Root keeps what it needs to work with files of others, and nothing that reaches other processes or the machine.
fn give_up_powers(survivors: Survivors) -> io::Result<()> {
    // Where signals stay inside, the power to send them to other users' processes means only its own.
    let killing = match survivors {
        Survivors::End => CapabilitySet::KILL,
        Survivors::Stay => CapabilitySet::empty(),
    };
    let keep = killing
        | CapabilitySet::CHOWN
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
