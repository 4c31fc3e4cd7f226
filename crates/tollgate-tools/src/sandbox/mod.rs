//! What holds a command: the best level this machine has, found by trying, never lowered without a word.
//!
//! | level | made of | holds |
//! |---|---|---|
//! | L3 | bubblewrap, seccomp | files, network, processes, devices; nothing survives |
//! | L2 | Landlock, seccomp, limits | files, network, dangerous system calls |
//! | L1 | a process group | nothing, so that every command needs a yes |
//!
//! A command that is known to only read runs without the right to write and without network as well, so that a mistake
//! of the analysis does no harm.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use tollgate::{Refusal, outcome::RefusalCode};

use crate::process::Wrapper;

mod places;
mod calls;
mod ruled;
mod bubble;
mod probe;
mod blame;

/// How well commands are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A process group only.
    L1,
    /// Landlock, seccomp and limits.
    L2,
    /// Bubblewrap and seccomp.
    L3,
}

/// What a command may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confined {
    /// Read, and nothing else.
    Reading,
    /// Change what is in the roots.
    Writing,
}

/// The sandbox of one program.
#[derive(Debug, Clone)]
pub struct Sandbox {
    chosen: Option<Level>,
    required: Option<Level>,
    network: bool,
    found: Arc<OnceLock<Found>>,
}

/// What trying showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The best level that holds.
    pub level: Level,
    /// What keeps it from being better, in words.
    pub missing: Vec<String>,
}

impl Level {
    /// `L1`, `L2` or `L3`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }

    /// The level of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::L1, Self::L2, Self::L3].into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

impl Sandbox {
    /// The best this machine has, found when it is first needed.
    pub fn probed() -> Self {
        Self { chosen: None, required: None, network: false, found: Arc::default() }
    }

    /// Exactly this level. Where the machine does not have it, nothing starts.
    pub fn at(level: Level) -> Self {
        Self { chosen: Some(level), ..Self::probed() }
    }

    /// The same, and below this level nothing runs at all.
    #[must_use]
    pub fn required(mut self, level: Level) -> Self {
        self.required = Some(level);
        self
    }

    /// The same with the network open to commands that do more than read.
    #[must_use]
    pub fn with_network(mut self) -> Self {
        self.network = true;
        self
    }

    /// The level commands run at.
    pub fn level(&self) -> Level {
        self.chosen.unwrap_or_else(|| self.found().level)
    }

    /// What trying showed, and what would raise the level.
    pub fn found(&self) -> &Found {
        self.found.get_or_init(probe::probe)
    }

    /// Refuses where the level is below the required one, or is not there.
    pub fn allowed(&self) -> Result<(), Refusal> {
        let level = self.level();
        let has = self.required.is_none_or(|required| level >= required) && self.found().level >= level;
        if has {
            return Ok(());
        }
        let wanted = self.required.max(self.chosen).unwrap_or(level).name();
        let reason = format!(
            "Commands need sandbox {wanted} here, and this machine has {}.",
            self.found().level.name()
        );
        let mut refusal = Refusal::new(RefusalCode::SandboxUnavailable, reason);
        refusal.hint = Some(match self.found().missing.first() {
            Some(missing) => format!("{missing} `tollgate doctor` shows the sandbox."),
            None => "`tollgate doctor` shows the sandbox.".to_owned(),
        });
        Err(refusal)
    }

    /// What is put around a command; `None` where nothing is.
    pub fn wrapper(&self, roots: &[PathBuf], confined: Confined) -> io::Result<Option<Arc<dyn Wrapper>>> {
        let network = self.network && confined == Confined::Writing;
        Ok(match self.level() {
            Level::L1 => None,
            Level::L2 => Some(Arc::new(ruled::Ruled::new(roots, confined, network)?)),
            Level::L3 => Some(Arc::new(bubble::Bubble::new(roots, confined, network)?)),
        })
    }

    /// A first line for bash that sets limits for it and everything it starts.
    pub fn limits(&self) -> &'static str {
        match self.level() {
            Level::L1 => "",
            // Open files, processes, size of one file (10 GiB), memory of one process (16 GiB), no core dumps.
            Level::L2 | Level::L3 => "ulimit -n 4096 -u 4096 -f 10485760 -v 16777216 -c 0 2>/dev/null\n",
        }
    }

    /// What of a command's words says that the sandbox held it.
    pub(crate) fn blames<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Option<&'static str> {
        if self.level() == Level::L1 { None } else { blame::of(texts) }
    }
}
