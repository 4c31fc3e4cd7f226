//! A process run to its end, its deadline or its cancellation, with what it said.

use std::{
    os::unix::process::ExitStatusExt as _,
    pin::pin,
    process::ExitStatus,
    time::{Duration, Instant},
};

use futures_util::future::join3;
use tokio::{io::AsyncWriteExt as _, net::unix::pipe};
use tokio_util::sync::CancellationToken;

use super::{Captured, Launch, LaunchError, capture::Capture};

/// A process that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: How,
    /// What it said.
    pub stdout: Captured,
    /// What it complained about.
    pub stderr: Captured,
    /// How long it took.
    pub took: Duration,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By itself, with this code.
    Code(i32),
    /// By this signal, not one of ours.
    Signal(i32),
    /// It was ended because this time had passed.
    Late(Duration),
    /// It was ended because the call was cancelled.
    Cancelled,
    /// Nobody saw its end.
    Unseen,
}

/// How long what a process has written may take to reach us once it is over. A child that left the group may hold
/// the pipe open for ever.
const DRAIN: Duration = Duration::from_millis(200);

impl Launch {
    /// Starts it, feeds it, and waits for its end; not for a child of its that holds on to the pipes.
    ///
    /// At the deadline and on cancellation the whole group is asked to end, and killed after the grace. Dropping the
    /// future kills it at once. Needs a tokio runtime with I/O and time.
    pub async fn run(self, token: &CancellationToken) -> Result<Ended, LaunchError> {
        let began = Instant::now();
        let (within, input, keep) = (self.within, self.input.clone(), self.keep);
        let (mut running, pipes) = self.start().await?;
        let (mut out, mut err) = (Capture::new(keep), Capture::new(keep));
        let how = {
            let mut talk =
                pin!(join3(feed(pipes.stdin, input), out.read(pipes.stdout), err.read(pipes.stderr)));
            let mut talked = false;
            let mut life = pin!(async {
                let late = async {
                    match within {
                        Some(within) => {
                            tokio::time::sleep(within).await;
                            How::Late(within)
                        }
                        None => std::future::pending().await,
                    }
                };
                let stopped = tokio::select! {
                    biased;
                    status = running.ended() => return How::of(status),
                    () = token.cancelled() => How::Cancelled,
                    late = late => late,
                };
                running.stop().await;
                stopped
            });
            let how = loop {
                tokio::select! {
                    how = &mut life => break how,
                    _ = &mut talk, if !talked => talked = true,
                }
            };
            if !talked {
                let _ = tokio::time::timeout(DRAIN, talk).await;
            }
            how
        };
        Ok(Ended { how, stdout: out.finish(), stderr: err.finish(), took: began.elapsed() })
    }
}

impl How {
    fn of(status: Option<ExitStatus>) -> Self {
        let Some(status) = status else { return Self::Unseen };
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unseen,
        }
    }
}

/// A process may stop reading whenever it likes.
async fn feed(stdin: Option<pipe::Sender>, input: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        let _ = stdin.write_all(&input).await;
    }
}
