//! A running process and everything in its group. It is reaped whatever happens, and dies with its handle.

use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use process_wrap::std::{CommandWrap, CommandWrapper as _, ProcessSession};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    net::unix::pipe,
    sync::{oneshot, watch},
};

use super::{
    Inside, Launch, LaunchError, Wrapper,
    watcher::{self, Entered, Telling},
};

/// A process that was started. Dropping it kills the process and its whole group.
#[derive(Debug)]
pub struct Running {
    group: Arc<Group>,
    ended: watch::Receiver<Option<ExitStatus>>,
    grace: Duration,
}

/// The ends of its pipes that are ours.
#[derive(Debug)]
pub struct Pipes {
    /// What it reads; `None` where it has no input.
    pub stdin: Option<pipe::Sender>,
    /// What it says.
    pub stdout: pipe::Receiver,
    /// What it complains about.
    pub stderr: pipe::Receiver,
}

/// A process group whose number is still its own.
#[derive(Debug)]
struct Group {
    leader: Pid,
    // True once the leader is reaped: from then on its number may be somebody else's.
    reaped: Mutex<bool>,
}

/// How much of what a process says may wait for us.
const PIPE: usize = 1 << 20;

/// Starts a process on a thread that waits for its end, ends what it left behind, and reaps it.
///
/// A thread rather than a task: it reaps even where the runtime is gone, and a sandbox can be entered on it.
pub(super) async fn start(launch: Launch) -> Result<(Running, Pipes), LaunchError> {
    let words = launch.words()?;
    if let Some(folder) = &launch.folder {
        folder.metadata().map_err(|error| LaunchError::Folder { folder: folder.clone(), error })?;
    }
    let (started, starting) = oneshot::channel();
    let inside = launch.wrapper.as_ref().map_or(Some(Inside::NOTHING), |wrapper| wrapper.inside());
    let watching = move |entered| match spawn(&launch, words, entered) {
        Ok(child) => Some(watch_over(child, launch.grace, launch.wrapper, started)),
        Err(error) => {
            drop(started.send(Err(error)));
            None
        }
    };
    watcher::give(inside, Box::new(watching)).map_err(LaunchError::Machine)?;
    let gone = || LaunchError::Machine(io::Error::other("the thread that starts it failed"));
    let (running, stdin, [stdout, stderr]) = starting.await.map_err(|_| gone())??;
    let pipes = Pipes {
        stdin: stdin.map(pipe::Sender::from_owned_fd).transpose().map_err(LaunchError::Machine)?,
        stdout: pipe::Receiver::from_owned_fd(stdout).map_err(LaunchError::Machine)?,
        stderr: pipe::Receiver::from_owned_fd(stderr).map_err(LaunchError::Machine)?,
    };
    Ok((running, pipes))
}

type Started = Result<(Running, Option<OwnedFd>, [OwnedFd; 2]), LaunchError>;

#[expect(clippy::disallowed_methods, reason = "the one place that starts processes")]
fn spawn(launch: &Launch, words: Vec<std::ffi::OsString>, entered: Entered) -> Result<Child, LaunchError> {
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| LaunchError::Missing(launch.program.clone()))?;
    let shown = PathBuf::from(&program);
    let mut command = Command::new(program);
    command.args(words).env_clear().envs(launch.environment.iter());
    command.stdin(if launch.input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    if launch.wrapper.as_ref().is_some_and(|wrapper| wrapper.holds_terminal()) {
        command.process_group(0);
    } else {
        // A session of its own: no controlling terminal, so it can neither read what a person answers nor answer itself.
        let session = ProcessSession.pre_spawn(&mut command, &CommandWrap::from(Command::new("")));
        session.map_err(LaunchError::Machine)?;
    }
    if let Some(wrapper) = &launch.wrapper {
        wrapper.command(&mut command).map_err(LaunchError::Wrapper)?;
        if entered == Entered::NotYet {
            wrapper.enter().map_err(LaunchError::Wrapper)?;
        }
    }
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LaunchError::Missing(shown.into_os_string()),
        io::ErrorKind::PermissionDenied => LaunchError::NotExecutable(shown),
        _ => LaunchError::Machine(error),
    })
}

fn watch_over(
    mut child: Child,
    grace: Duration,
    wrapper: Option<Arc<dyn Wrapper>>,
    started: oneshot::Sender<Started>,
) -> Telling {
    let (ends, ended) = watch::channel(None);
    let group = Arc::new(Group { leader: Pid::from_child(&child), reaped: Mutex::new(false) });
    if let Some(stdout) = &child.stdout {
        // Whoever says much waits for us less often. Where there is no room for it, it stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(stdout, PIPE);
    }
    let stdin = child.stdin.take().map(OwnedFd::from);
    let pipes = match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), Some(stderr)) => Ok([stdout.into(), stderr.into()]),
        _ => Err(LaunchError::Machine(io::Error::other("it has no pipes"))),
    };
    let running = Running { group: group.clone(), ended, grace };
    // Where whoever wanted it is gone already, or the pipes are not there, the handle is dropped and kills it.
    drop(started.send(pipes.map(|pipes| (running, stdin, pipes))));
    // Seen but not yet reaped, the leader keeps the group's number, so that the signal meets what it left behind and
    // nobody else.
    let _ = rustix::io::retry_on_intr(|| {
        waitid(WaitId::Pid(group.leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    });
    group.signal(Signal::KILL);
    if let Some(wrapper) = &wrapper {
        wrapper.leave();
    }
    let mut reaped = group.reaped.lock().unwrap_or_else(PoisonError::into_inner);
    let status = child.wait();
    *reaped = true;
    drop(reaped);
    // What was put around it is gone before anybody is told that it is over.
    drop(wrapper);
    Box::new(move || {
        if let Ok(status) = status {
            ends.send_replace(Some(status));
        }
    })
}

impl Group {
    fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            // The only fault there can be is that nobody is left.
            let _ = kill_process_group(self.leader, signal);
        }
    }
}

impl Running {
    /// Its process id, which is its group's too.
    pub fn id(&self) -> u32 {
        self.group.leader.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits for its end. What it left behind in its group is ended with it; `None` where the end was not seen.
    pub async fn ended(&mut self) -> Option<ExitStatus> {
        self.ended.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }

    /// Asks it and its group to end; kills them after the grace.
    pub async fn stop(&mut self) -> Option<ExitStatus> {
        self.group.signal(Signal::TERM);
        let grace = self.grace;
        if let Ok(status) = tokio::time::timeout(grace, self.ended()).await {
            return status;
        }
        self.group.signal(Signal::KILL);
        self.ended().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.group.signal(Signal::KILL);
    }
}
