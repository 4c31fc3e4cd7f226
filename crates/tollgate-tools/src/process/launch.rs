//! A process as it is to be started. Nothing has happened yet.

use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    Environment, Keep,
    group::{self, Pipes, Running},
    program::find,
};

/// What to start, where, with which environment, and within which limits.
#[derive(Debug, Clone)]
#[must_use = "nothing starts before `run` or `start`"]
pub struct Launch {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) folder: Option<PathBuf>,
    pub(super) environment: Environment,
    pub(super) input: Option<Vec<u8>>,
    pub(super) keep: Keep,
    pub(super) within: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) wrapper: Option<Arc<dyn Wrapper>>,
}

/// Changes a process before it starts: the place where a sandbox goes in.
///
/// An error of any of these means that nothing starts.
pub trait Wrapper: fmt::Debug + Send + Sync {
    /// The words that really start: the program, absolute, and its arguments. Put a wrapping program before them.
    fn words(&self, words: Vec<OsString>) -> io::Result<Vec<OsString>> {
        Ok(words)
    }

    /// The last touch on the command: environment, folder, pipes and session are set.
    fn command(&self, command: &mut Command) -> io::Result<()> {
        let _ = command;
        Ok(())
    }

    /// Runs on the thread that starts the process and waits for it, before it starts. What this thread gives up
    /// (Landlock, seccomp), the process and all its children never have. The thread does nothing else.
    fn enter(&self) -> io::Result<()> {
        Ok(())
    }

    /// Where a thread is once it has entered. A later process of a wrapper that says the same starts on that thread
    /// when the one before is over, and is not entered again. `None`: each enters on a thread of its own.
    fn inside(&self) -> Option<Inside> {
        None
    }

    /// True where nothing that starts can open a terminal. A group of its own is enough then in the place of a session,
    /// and starting it does not copy our memory.
    fn holds_terminal(&self) -> bool {
        false
    }

    /// Runs on the same thread once the process is over and its group was ended, before anybody is told: ends what of
    /// it is left elsewhere, where the sandbox can tell.
    fn leave(&self) {}
}

/// A place that threads enter; no two are equal unless one is the copy of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inside(u64);

impl Inside {
    /// Nothing to enter.
    pub(super) const NOTHING: Self = Self(0);

    /// One that nobody is in yet.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for Inside {
    fn default() -> Self {
        Self::new()
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No such program.
    #[error("there is no program `{}`", .0.display())]
    Missing(OsString),
    /// It is there and cannot be run.
    #[error("`{}` is not a program that can be run", .0.display())]
    NotExecutable(PathBuf),
    /// The folder it should start in is not there.
    #[error("the folder {} cannot be used: {error}", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The sandbox could not be put around it.
    #[error("the sandbox could not be set up: {0}")]
    Wrapper(#[source] io::Error),
    /// The machine refused.
    #[error("it could not be started: {0}")]
    Machine(#[source] io::Error),
}

/// How long a process that was told to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);

impl Launch {
    /// A program and its arguments, with an empty environment, no input and no deadline, in our own folder.
    pub fn new<A: Into<OsString>>(program: impl Into<OsString>, args: impl IntoIterator<Item = A>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            folder: None,
            environment: Environment::empty(),
            input: Some(Vec::new()),
            keep: Keep::default(),
            within: None,
            grace: GRACE,
            wrapper: None,
        }
    }

    /// The folder it starts in. A program named by a relative path is looked for from here.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// All it gets to know of the environment. A bare program name is looked for in its `PATH`.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// What it reads on its standard input; it meets the end of the input after that.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// It has no input at all, and can see so: programs that read a pipe where there is one do not wait for it.
    pub fn without_input(mut self) -> Self {
        self.input = None;
        self
    }

    /// How much of what it says is kept.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// When it must be over.
    pub fn within(mut self, limit: Duration) -> Self {
        self.within = Some(limit);
        self
    }

    /// How long it may take to end once it was told to; two seconds unless given.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// What is put around it.
    pub fn wrapper(mut self, wrapper: Arc<dyn Wrapper>) -> Self {
        self.wrapper = Some(wrapper);
        self
    }

    /// Starts it and hands over its pipes: for a process that lives longer than one question.
    ///
    /// Needs a tokio runtime with I/O. `input`, `keep` and `within` are not looked at.
    pub async fn start(self) -> Result<(Running, Pipes), LaunchError> {
        group::start(self).await
    }

    /// The program and its arguments as they will start.
    pub(super) fn words(&self) -> Result<Vec<OsString>, LaunchError> {
        let path = self.environment.get("PATH").unwrap_or_else(|| OsStr::new(""));
        let from = self.folder.as_deref().unwrap_or_else(|| Path::new("."));
        let program = find(&self.program, path, from)?;
        let words = std::iter::once(program.into_os_string()).chain(self.args.iter().cloned()).collect();
        match &self.wrapper {
            Some(wrapper) => wrapper.words(words).map_err(LaunchError::Wrapper),
            None => Ok(words),
        }
    }
}
