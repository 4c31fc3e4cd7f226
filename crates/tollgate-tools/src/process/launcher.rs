//! The launcher of this machine, for parts of Tollgate that start nothing themselves.

use std::{ffi::OsString, io, sync::Arc};

use tollgate::{
    BoxFuture,
    launch::{Launcher, Process, Program, Started},
};

use super::{
    Environment, Launch, LaunchError, Running, Wrapper,
    input::{Input, Untouched},
};

/// Starts programs here, each with the allow list of these variables and, where given, inside a sandbox.
#[derive(Clone)]
pub struct HostLauncher {
    variables: Arc<[(OsString, OsString)]>,
    wrapper: Option<Arc<dyn Wrapper>>,
}

impl HostLauncher {
    /// A launcher for programs that get a part of this environment.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), wrapper: None }
    }

    /// The same, with this around every program.
    #[must_use]
    pub fn wrapped(mut self, wrapper: Arc<dyn Wrapper>) -> Self {
        self.wrapper = Some(wrapper);
        self
    }

    fn launch(&self, program: Program) -> Result<Launch, LaunchError> {
        let mut words = program.command.into_iter();
        let name = words.next().ok_or_else(|| LaunchError::Missing(OsString::new()))?;
        let environment = Environment::of(self.variables.iter().cloned(), &program.names);
        let environment =
            program.variables.into_iter().fold(environment, |all, (name, value)| all.with(name, value));
        let mut launch = Launch::new(name, words).environment(environment);
        if let Some(folder) = program.folder {
            launch = launch.folder(folder);
        }
        Ok(match &self.wrapper {
            Some(wrapper) => launch.wrapper(wrapper.clone()),
            None => launch,
        })
    }
}

// Values of variables may be secrets.
impl std::fmt::Debug for HostLauncher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostLauncher").field("wrapper", &self.wrapper).finish_non_exhaustive()
    }
}

impl Launcher for HostLauncher {
    fn start(&self, program: Program) -> BoxFuture<'_, io::Result<Started>> {
        Box::pin(async move {
            let launch = self.launch(program).map_err(io::Error::other)?;
            let (running, pipes) = launch.start().await.map_err(io::Error::other)?;
            let stdin = pipes.stdin.ok_or_else(|| io::Error::other("it has no input"))?;
            let (stdin, untouched) = Input::new(stdin);
            Ok(Started {
                stdin: Box::new(stdin),
                stdout: Box::new(pipes.stdout),
                stderr: Box::new(pipes.stderr),
                process: Box::new(Talking { running, untouched }),
            })
        })
    }
}

/// A program that is talked to.
struct Talking {
    running: Running,
    untouched: Untouched,
}

impl Process for Talking {
    fn id(&self) -> u32 {
        self.running.id()
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<i32>> {
        Box::pin(async { self.running.ended().await.and_then(|status| status.code()) })
    }

    fn has_read_nothing(&self) -> bool {
        self.untouched.is_true()
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.running.stop().await;
        })
    }
}
