//! A server that is a program: its stdin, stdout and stderr, and its end.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{io::AsyncRead, sync::Mutex};
use tokio_util::sync::CancellationToken;
use tollgate::{
    BoxFuture,
    launch::{Launcher, Process, Program, Started},
};

use super::{
    Fault, Host, Session,
    lines::{Line, Lines},
    message::{self, id_in},
    pipe::{Pace, Pipe, Pushed},
    session::{Link, Outgoing},
    tail::Tail,
};
use crate::config::Endpoint;

/// After its end, so long may still be read what it had said.
const LAST_WORDS: Duration = Duration::from_millis(200);

struct Stdio {
    pipe: Arc<Pipe>,
    stop: CancellationToken,
    // Held by the task that watches the process until it is reaped.
    ended: Arc<Mutex<()>>,
}

/// Starts the program and talks to it.
pub(super) async fn start(
    launcher: &dyn Launcher,
    endpoint: &Endpoint,
    limit: usize,
    host: Arc<Host>,
) -> Result<(Arc<Session>, Tail), Fault> {
    let Endpoint::Stdio { command, args, env, env_names, cwd } = endpoint else {
        return Err(Fault::NotSent("it is no program".to_owned()));
    };
    let program = Program {
        command: std::iter::once(command).chain(args).map(Into::into).collect(),
        folder: cwd.clone(),
        names: env_names.clone(),
        variables: env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
    };
    let started = launcher.start(program).await;
    let Started { stdin, stdout, stderr, process } =
        started.map_err(|error| Fault::NotSent(format!("it cannot be started: {error}")))?;
    let tail = Tail::default();
    let pipe = Arc::new(Pipe::new(stdin));
    let stop = CancellationToken::new();
    let ended = Arc::new(Mutex::new(()));
    let held = ended.clone().lock_owned().await;
    let session = Session::new(Box::new(Stdio { pipe: pipe.clone(), stop: stop.clone(), ended }), host);
    tokio::spawn(tail.clone().drain(stderr));
    tokio::spawn(write(pipe, session.clone()));
    let reading = tokio::spawn(read(stdout, limit, session.clone()));
    let watched = session.clone();
    tokio::spawn(async move {
        watch(process, &watched, stop, reading).await;
        drop(held);
    });
    Ok((session, tail))
}

async fn write(pipe: Arc<Pipe>, session: Arc<Session>) {
    // Why it reads no more is told by its end, which is watched.
    tokio::select! {
        () = pipe.write() => {}
        () = session.ended() => pipe.close(),
    }
}

async fn read(stdout: Box<dyn AsyncRead + Send + Unpin>, limit: usize, session: Arc<Session>) {
    let mut lines = Lines::new(stdout, limit);
    loop {
        match lines.next().await {
            Ok(Some(Line::Whole(line))) => session.receive(line),
            Ok(Some(Line::TooLong { length, ends })) => match id_in(&ends) {
                Some(id) => session.fail(id, Fault::TooLarge { bytes: Some(length), limit }),
                None => session.count_stray(),
            },
            Ok(None) | Err(_) => return,
        }
        // A flood must not keep this thread from everything else.
        tokio::task::coop::consume_budget().await;
    }
}

/// Waits for the end of the process, or ends it.
async fn watch(
    mut process: Box<dyn Process>,
    session: &Session,
    stop: CancellationToken,
    mut reading: tokio::task::JoinHandle<()>,
) {
    let mut ended = false;
    let reason = tokio::select! {
        code = process.ended() => {
            ended = true;
            // What it said last is still in the pipe.
            let _ = tokio::time::timeout(LAST_WORDS, &mut reading).await;
            match code {
                Some(code) => format!("the server ended with exit code {code}"),
                None => "the server was killed".to_owned(),
            }
        }
        _ = &mut reading => {
            // It closed its stdout: whatever it does now, it answers nothing any more.
            let code = tokio::time::timeout(LAST_WORDS, process.ended()).await;
            ended = code.is_ok();
            match code {
                Ok(Some(code)) => format!("the server ended with exit code {code}"),
                Ok(None) => "the server was killed".to_owned(),
                Err(_) => "the server closed its stdout".to_owned(),
            }
        }
        () = stop.cancelled() => "it was closed".to_owned(),
    };
    reading.abort();
    // What lies in the pipe when its reader ends has reached nobody.
    if ended && process.has_read_nothing() {
        session.end_unreached(reason);
    } else {
        session.end(reason);
    }
    process.stop().await;
}

impl Link for Stdio {
    fn send<'a>(&'a self, session: &'a Arc<Session>, message: Outgoing) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let mut line = message.text.into_bytes();
            line.push(b'\n');
            let pace = if session.is_busy() { Pace::Together } else { Pace::Now };
            loop {
                match self.pipe.push(&line, pace) {
                    Pushed::Sent => return Ok(()),
                    Pushed::Full => self.pipe.room().await,
                    Pushed::Closed => break,
                }
            }
            // The pipe is broken; why is known in a moment.
            let _ = tokio::time::timeout(2 * LAST_WORDS, session.ended()).await;
            Err(Fault::NotSent(session.reason()))
        })
    }

    fn abandon(&self, session: &Session, id: u64) {
        if session.is_alive() {
            let params = json!({"requestId": id, "reason": "nobody waits for it any more"});
            let mut line = message::notification("notifications/cancelled", Some(&params)).into_bytes();
            line.push(b'\n');
            // A server that reads nothing does not read this either.
            let _ = self.pipe.push(&line, Pace::Together);
        }
    }

    fn stop(&self) {
        self.stop.cancel();
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.stop.cancel();
        Box::pin(async {
            let _ = self.ended.lock().await;
        })
    }
}
