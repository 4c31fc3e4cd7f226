//! What holds a command: the best level this machine has, found by trying, never lowered without a word.
//!
//! | level | made of | holds |
//! |---|---|---|
//! | L3 | bubblewrap, Landlock, seccomp | files, network, processes, devices; nothing survives |
//! | L2 | Landlock, seccomp, limits | files, network, dangerous system calls; nothing survives from Linux 6.12 on |
//! | L1 | a process group | nothing, so that every command needs a yes |
//!
//! A command that is known to only read runs without the right to write and without network as well, so that a mistake
//! of the analysis does no harm.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tollgate::{Refusal, outcome::RefusalCode};

use crate::process::Wrapper;

use self::{
    bubble::Bubble,
    ruled::{Ruled, Survivors},
};

mod places;
mod filter;
mod calls;
mod carve;
mod rules;
mod scratch;
mod ruled;
mod placeholder;
mod bubble;
pub mod inner;
mod probe;
mod blame;
mod config;

pub use config::SandboxConfig;
pub(crate) use places::settings_at;

/// Takes away the placeholders that commands left in these roots whose program was ended in their middle. A few looks
/// at names where there are none; what a running command needs, and every file of anybody's, stays.
pub fn sweep(roots: &[PathBuf]) {
    bubble::sweep(roots);
}

/// How well commands are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A process group only.
    L1,
    /// Landlock, seccomp and limits.
    L2,
    /// Bubblewrap, Landlock and seccomp.
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
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    inner: Option<PathBuf>,
    found: Arc<OnceLock<Found>>,
    kept: Arc<Kept>,
}

/// What stands around one command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Walls {
    roots: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    hidden: Hidden,
    confined: Confined,
    network: bool,
}

impl Walls {
    /// Around these roots, with nothing open beside them.
    fn around(roots: Vec<PathBuf>, confined: Confined) -> Self {
        let (readable, writable) = (Vec::new(), Vec::new());
        Self { roots, readable, writable, hidden: Hidden::default(), confined, network: false }
    }
}

/// What lies beneath the roots and is not for the command all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Files and folders that are there.
    pub found: Vec<PathBuf>,
    /// Files and folders that are there and can be read, and that a command which does more must not change.
    pub closed: Vec<PathBuf>,
    /// Folders of Tollgate's own, whether they are there or not.
    pub own: Vec<PathBuf>,
}

impl Hidden {
    fn is_empty(&self) -> bool {
        self.found.is_empty() && self.own.is_empty() && self.closed.is_empty()
    }

    fn all(&self) -> Vec<PathBuf> {
        self.found.iter().chain(&self.own).cloned().collect()
    }
}

/// What is made once and serves many commands.
#[derive(Debug, Default)]
struct Kept {
    rules: rules::Made,
    scratch: Mutex<Option<Arc<scratch::Scratch>>>,
    signals: OnceLock<Signals>,
}

impl Kept {
    fn scratch(&self) -> io::Result<Arc<scratch::Scratch>> {
        let mut kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scratch) = kept.as_ref().filter(|scratch| scratch.folder().is_dir()) {
            return Ok(scratch.clone());
        }
        Ok(kept.insert(Arc::new(scratch::Scratch::make()?)).clone())
    }
}

/// What trying showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The best level that holds.
    pub level: Level,
    /// What keeps it from being better, in words.
    pub missing: Vec<String>,
    /// `None` where this was not tried.
    signals: Option<Signals>,
    /// Landlock holds inside the bubble as well.
    pub inner: bool,
}

/// Where the signals of a command at L2 arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signals {
    /// Among its own processes only, so that those which left its group can be found and ended.
    Kept,
    /// Everywhere.
    Open,
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
        Self {
            chosen: None,
            required: None,
            network: false,
            readable: Vec::new(),
            writable: Vec::new(),
            inner: None,
            found: Arc::default(),
            kept: Arc::default(),
        }
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

    /// The same, and at L3 Landlock goes on inside the bubble: this program is started there as [`inner`] says.
    #[must_use]
    pub fn with_inner(mut self, program: PathBuf) -> Self {
        self.inner = Some(program);
        self
    }

    /// The same with these places to read, and these to change, beside the roots.
    #[must_use]
    pub fn with_places(mut self, readable: Vec<PathBuf>, writable: Vec<PathBuf>) -> Self {
        (self.readable, self.writable) = (readable, writable);
        self
    }

    /// The same with the network open to commands that do more than read.
    #[must_use]
    pub fn with_network(mut self) -> Self {
        self.network = true;
        self
    }

    /// What it says of itself, for whoever is asked about a call.
    pub fn word(&self) -> String {
        let network = if self.network { ", network open" } else { "" };
        format!("{} for commands{network}", self.level().name())
    }

    /// The level commands run at.
    pub fn level(&self) -> Level {
        self.chosen.unwrap_or_else(|| self.found().level)
    }

    /// What trying showed, and what would raise the level.
    pub fn found(&self) -> &Found {
        self.found.get_or_init(|| probe::probe(self.inner.clone()))
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
        self.hiding(roots, confined, Hidden::default())
    }

    /// The same, and this is kept from the command where [`Sandbox::hides`] says that it can be.
    pub fn hiding(
        &self,
        roots: &[PathBuf],
        confined: Confined,
        hidden: Hidden,
    ) -> io::Result<Option<Arc<dyn Wrapper>>> {
        let walls = Walls {
            readable: self.readable.clone(),
            writable: self.writable.clone(),
            hidden,
            network: self.network && confined == Confined::Writing,
            ..Walls::around(roots.to_vec(), confined)
        };
        Ok(match self.level() {
            Level::L1 => None,
            Level::L2 => {
                let tried = || *self.kept.signals.get_or_init(probe::signals);
                let survivors = match self.found().signals.unwrap_or_else(tried) {
                    Signals::Kept => Survivors::End,
                    Signals::Open => Survivors::Stay,
                };
                Some(Arc::new(Ruled::new(&walls, &self.kept, survivors)?))
            }
            Level::L3 => {
                let inner = self.inner.as_deref().filter(|_| self.found().inner);
                Some(Arc::new(Bubble::new(walls, inner)?))
            }
        })
    }

    /// Whether a command of this kind can be kept from files beneath the roots.
    pub fn hides(&self, confined: Confined) -> bool {
        match self.level() {
            Level::L1 => false,
            // Rules open folders; around a hidden file they open its neighbours, and a file made later has no rule.
            Level::L2 => confined == Confined::Reading,
            Level::L3 => true,
        }
    }

    /// Words before the line for bash that set limits for it and everything it starts.
    pub fn limits(&self) -> &'static str {
        match self.level() {
            Level::L1 => "",
            // Open files, processes, size of one file (10 GiB), memory of one process (16 GiB), no core dumps.
            Level::L2 | Level::L3 => "ulimit -n 4096 -u 4096 -f 10485760 -v 16777216 -c 0 2>/dev/null; ",
        }
    }

    /// What of a command's words says that the sandbox held it.
    pub(crate) fn blames<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Option<&'static str> {
        if self.level() == Level::L1 { None } else { blame::of(texts) }
    }
}
