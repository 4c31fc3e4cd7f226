//! A command that runs: what it has said so far, whether it is over, and the way to end it.

use std::{
    collections::BTreeMap,
    io,
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    net::unix::pipe,
    sync::{mpsc, watch},
};

use super::transcript::{Stream, Transcript};
use crate::process::{Launch, LaunchError, Pipes, Running};

/// How much of a command's output is kept in memory, from its beginning and from its end. `words` says so.
const HEAD: usize = 1 << 20;
const TAIL: usize = 1 << 20;
/// How long what was written may take to reach us once the shell is over. A child may hold the pipe for ever.
const DRAIN: Duration = Duration::from_millis(200);
/// Jobs that are over are remembered up to this many.
const REMEMBERED: usize = 32;

/// A command that was started.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) command: String,
    pub(super) began: Instant,
    state: watch::Receiver<Option<Over>>,
    transcript: Arc<Mutex<Transcript>>,
    stop: mpsc::Sender<()>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Over {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// It was told to end.
    pub(super) stopped: bool,
    /// Something else still had its output open when it ended.
    pub(super) held: bool,
    pub(super) took: Duration,
}

/// The jobs of one program, by number. Dropped, they all end.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    next: AtomicU32,
    all: Mutex<BTreeMap<u32, Arc<Job>>>,
}

impl Job {
    /// Starts it. Dropping the job kills the process and its group.
    pub(super) async fn start(launch: Launch, command: &str) -> Result<Self, LaunchError> {
        let began = Instant::now();
        let (running, pipes) = launch.without_input().start().await?;
        let transcript = Arc::new(Mutex::new(Transcript::new(HEAD, TAIL)));
        let (ended, state) = watch::channel(None);
        let (stop, stops) = mpsc::channel(1);
        let watching = watch_over(running, pipes, transcript.clone(), stops, began);
        tokio::spawn(async move {
            let over = watching.await;
            ended.send_replace(Some(over));
        });
        Ok(Self { command: command.to_owned(), began, state, transcript, stop })
    }

    /// How it ended, if it did.
    pub(super) fn over(&self) -> Option<Over> {
        *self.state.borrow()
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Option<Over> {
        self.state.clone().wait_for(Option::is_some).await.ok().and_then(|over| *over)
    }

    /// Tells it and its group to end, kills them after the grace, and waits for that.
    pub(super) async fn end(&self) -> Option<Over> {
        // A full channel means that it was told already.
        let _ = self.stop.try_send(());
        self.ended().await
    }

    pub(super) fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads both streams to their end, waits for the shell, and not for a child that holds its pipes.
async fn watch_over(
    mut running: Running,
    pipes: Pipes,
    transcript: Arc<Mutex<Transcript>>,
    mut stops: mpsc::Receiver<()>,
    began: Instant,
) -> Over {
    let mut talk = std::pin::pin!(copy(pipes.stdout, pipes.stderr, &transcript));
    let (mut talked, mut stopped) = (false, false);
    let status = loop {
        tokio::select! {
            biased;
            () = &mut talk, if !talked => talked = true,
            status = running.ended() => break status,
            told = stops.recv(), if !stopped => {
                stopped = true;
                // Nobody holds the job any more, or somebody wants it over.
                let _ = told;
                let ending = running.stop();
                let mut ending = std::pin::pin!(ending);
                break loop {
                    tokio::select! {
                        status = &mut ending => break status,
                        () = &mut talk, if !talked => talked = true,
                    }
                };
            }
        }
    };
    let held = !talked && tokio::time::timeout(DRAIN, talk).await.is_err();
    over(status, stopped, held, began.elapsed())
}

fn over(status: Option<ExitStatus>, stopped: bool, held: bool, took: Duration) -> Over {
    Over {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        stopped,
        held,
        took,
    }
}

/// Reads both streams to their end, a piece of each in turn: what came first is told by who had something first.
async fn copy(out: pipe::Receiver, err: pipe::Receiver, to: &Mutex<Transcript>) {
    let mut piece = vec![0; 64 << 10];
    let mut open = [Some((Stream::Out, out)), Some((Stream::Err, err))];
    loop {
        let ready = match &open {
            [Some((_, out)), Some((_, err))] => tokio::select! {
                ready = out.readable() => ready,
                ready = err.readable() => ready,
            },
            [Some((_, one)), None] | [None, Some((_, one))] => one.readable().await,
            [None, None] => return,
        };
        if ready.is_err() {
            return;
        }
        let mut came = 0;
        for pipe in &mut open {
            let Some((stream, from)) = pipe else { continue };
            match from.try_read(&mut piece) {
                Ok(length @ 1..) => {
                    came += 1;
                    to.lock().unwrap_or_else(PoisonError::into_inner).take(*stream, &piece[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A stream that cannot be read any more has ended.
                Ok(_) | Err(_) => *pipe = None,
            }
        }
        if came == 2 {
            to.lock().unwrap_or_else(PoisonError::into_inner).at_once();
        }
    }
}

impl Jobs {
    /// Keeps a job under a number of its own.
    pub(super) fn keep(&self, job: Arc<Job>) -> u32 {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut all = self.all();
        all.insert(number, job);
        let over: Vec<_> =
            all.iter().filter(|(_, job)| job.over().is_some()).map(|(number, _)| *number).collect();
        for number in over.iter().take(over.len().saturating_sub(REMEMBERED)) {
            all.remove(number);
        }
        number
    }

    pub(super) fn get(&self, number: u32) -> Option<Arc<Job>> {
        self.all().get(&number).cloned()
    }

    pub(super) fn list(&self) -> Vec<(u32, Arc<Job>)> {
        self.all().iter().map(|(number, job)| (*number, job.clone())).collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Job>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// What is told of two streams into which these were written, one after the other or before anybody looked.
    async fn read(said: &[(Stream, &str)], watched: bool) -> (Vec<(Stream, String)>, bool) {
        let (mut to_out, out) = pipe::pipe().unwrap();
        let (mut to_err, err) = pipe::pipe().unwrap();
        let transcript = Mutex::new(Transcript::new(1000, 1000));
        let mut copying = std::pin::pin!(copy(out, err, &transcript));
        for (stream, text) in said {
            let to = if *stream == Stream::Out { &mut to_out } else { &mut to_err };
            to.write_all(text.as_bytes()).await.unwrap();
            let before = transcript.lock().unwrap().total();
            while watched && transcript.lock().unwrap().total() == before {
                let moment = tokio::time::sleep(Duration::from_millis(1));
                tokio::select! { () = &mut copying => {}, () = moment => {} }
            }
        }
        drop((to_out, to_err));
        copying.await;
        let transcript = transcript.lock().unwrap();
        let told = transcript.told().into_iter().map(|told| (told.stream, told.text)).collect();
        (told, transcript.came_at_once())
    }

    #[tokio::test]
    async fn the_order_of_both_streams_is_kept_where_it_is_seen_and_where_it_is_not_that_is_known() {
        let said = [(Stream::Out, "a"), (Stream::Err, "b"), (Stream::Out, "c")];
        let owned = |said: &[(Stream, &str)]| -> Vec<(Stream, String)> {
            said.iter().map(|(stream, text)| (*stream, (*text).to_owned())).collect()
        };
        assert_eq!(read(&said, true).await, (owned(&said), false));
        assert_eq!(read(&said, false).await, (owned(&[(Stream::Out, "ac"), (Stream::Err, "b")]), true));
    }
}
