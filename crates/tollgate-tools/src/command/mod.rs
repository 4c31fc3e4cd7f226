//! The tools `shell` and `jobs`: a command line runs in bash, inside the sandbox, to its end or on as a job.

use std::{path::PathBuf, sync::Arc};

use tollgate::{Registry, catalog::RegistryError};

use crate::{builtin::add, process::Environment, sandbox::Sandbox};

mod transcript;
mod job;
mod effects;
mod guard;
mod doubts;
mod look;
mod reach;
mod repository;
mod shown;
mod shell;
mod jobs;
mod words;

pub use guard::{Guard, Reading};
pub use jobs::JobsTool;
pub use shell::ShellTool;

use job::Jobs;

/// What the shell tools of one program share: the environment of children, the sandbox, and the jobs that run.
#[derive(Debug)]
pub struct Shell {
    environment: Environment,
    home: Option<PathBuf>,
    sandbox: Sandbox,
    guard: Guard,
    lasts: Lasts,
    jobs: Jobs,
}

/// How long what a command leaves running can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// One call: nobody comes back for it, so there are no jobs.
    Call,
    /// The calls of one turn: a job can be asked for by those that come after it, and ends with the last of them.
    Turn,
    /// Many calls.
    Session,
}

impl Shell {
    /// Children get this environment and the best sandbox this machine has; `~` stands for `home`.
    pub fn new(environment: Environment, home: Option<PathBuf>) -> Arc<Self> {
        Self::in_sandbox(environment, home, Sandbox::probed())
    }

    /// The same in a sandbox that was chosen.
    pub fn in_sandbox(environment: Environment, home: Option<PathBuf>, sandbox: Sandbox) -> Arc<Self> {
        Self::guarded(environment, home, sandbox, Guard::open())
    }

    /// The same, and files that nobody named are read only where this says so.
    pub fn guarded(
        environment: Environment,
        home: Option<PathBuf>,
        sandbox: Sandbox,
        guard: Guard,
    ) -> Arc<Self> {
        Self::lasting(environment, home, sandbox, guard, Lasts::Session)
    }

    /// The same for a program that lasts so long.
    pub fn lasting(
        environment: Environment,
        home: Option<PathBuf>,
        sandbox: Sandbox,
        guard: Guard,
        lasts: Lasts,
    ) -> Arc<Self> {
        Arc::new(Self { environment, home, sandbox, guard, lasts, jobs: Jobs::default() })
    }

    /// The sandbox commands run in.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The registry with both tools; with `only`, just the one that answers to that name.
    pub fn register(
        self: &Arc<Self>,
        registry: Registry,
        only: Option<&str>,
    ) -> Result<Registry, RegistryError> {
        let registry = add(registry, only, shell::NAMES, || ShellTool(self.clone()))?;
        add(registry, only, jobs::NAMES, || JobsTool(self.clone()))
    }
}
