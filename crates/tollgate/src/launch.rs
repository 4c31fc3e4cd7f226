//! Starting programs, for parts that need one and must not start any: who wires the gate brings the launcher.

use std::{ffi::OsString, io, path::PathBuf};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// Starts programs, each behind the same walls: its own session, an allow list of the environment, the sandbox.
pub trait Launcher: Send + Sync + 'static {
    /// Starts a program that is talked to for longer than one question, as a server is.
    fn start(&self, program: Program) -> BoxFuture<'_, io::Result<Started>>;
}

/// What to start.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The folder it starts in; the launcher's own where there is none.
    pub folder: Option<PathBuf>,
    /// Variables it gets from our environment beside those every program gets, by name.
    pub names: Vec<String>,
    /// Variables it gets with these values.
    pub variables: Vec<(OsString, OsString)>,
}

/// A program that runs.
pub struct Started {
    /// What it reads.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it says.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// What it complains about.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// The program itself. Dropping it kills the program and all it started.
    pub process: Box<dyn Process>,
}

/// A program while it runs.
pub trait Process: Send {
    /// Its process id.
    fn id(&self) -> u32;

    /// Waits for its end; its exit code, where it ended by itself.
    fn ended(&mut self) -> BoxFuture<'_, Option<i32>>;

    /// True when it has taken nothing of what was written to its stdin; false also where nobody can tell.
    fn has_read_nothing(&self) -> bool {
        false
    }

    /// Asks it and all it started to end, and kills what does not.
    fn stop(&mut self) -> BoxFuture<'_, ()>;
}

// Values of variables may be secrets: only names are shown.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let variables: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        f.debug_struct("Program")
            .field("command", &self.command)
            .field("folder", &self.folder)
            .field("names", &self.names)
            .field("variables", &variables)
            .finish()
    }
}

impl std::fmt::Debug for Started {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Started").field("process", &self.process.id()).finish_non_exhaustive()
    }
}
