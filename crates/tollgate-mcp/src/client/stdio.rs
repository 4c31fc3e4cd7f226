//! A server that is a program: its stdin, stdout and stderr, and its end.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{Mutex, mpsc},
};
use tokio_util::sync::CancellationToken;
use tollgate::{
    BoxFuture,
    launch::{Launcher, Process, Program, Started},
};

use super::{
    Fault, Host, Session,
    lines::{Line, Lines},
    message::{self, id_in},
    session::{Link, Outgoing},
    tail::Tail,
};
use crate::config::Endpoint;

/// Messages that wait for a server to read.
const QUEUE: usize = 1024;

/// So much of several messages is written at once.
const WRITE: usize = 64 << 10;

/// After its end, so long may still be read what it had said.
const LAST_WORDS: Duration = Duration::from_millis(200);

struct Stdio {
    queue: mpsc::Sender<String>,
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
    let (queue, messages) = mpsc::channel(QUEUE);
    let stop = CancellationToken::new();
    let ended = Arc::new(Mutex::new(()));
    let held = ended.clone().lock_owned().await;
    let session = Session::new(Box::new(Stdio { queue, stop: stop.clone(), ended }), host);
    tokio::spawn(tail.clone().drain(stderr));
    tokio::spawn(write(stdin, messages, session.clone()));
    let reading = tokio::spawn(read(stdout, limit, session.clone()));
    let watched = session.clone();
    tokio::spawn(async move {
        watch(process, &watched, stop, reading).await;
        drop(held);
    });
    Ok((session, tail))
}

/// Writes what is queued, several messages at once where several wait.
async fn write(
    mut stdin: Box<dyn AsyncWrite + Send + Unpin>,
    mut queue: mpsc::Receiver<String>,
    session: Arc<Session>,
) {
    let mut bytes = Vec::new();
    loop {
        let first = tokio::select! {
            first = queue.recv() => first,
            () = session.ended() => None,
        };
        let Some(first) = first else { return };
        bytes.clear();
        bytes.extend_from_slice(first.as_bytes());
        bytes.push(b'\n');
        while bytes.len() < WRITE
            && let Ok(next) = queue.try_recv()
        {
            bytes.extend_from_slice(next.as_bytes());
            bytes.push(b'\n');
        }
        let written = async {
            stdin.write_all(&bytes).await?;
            stdin.flush().await
        };
        let written = tokio::select! {
            written = written => written,
            () = session.ended() => return,
        };
        // Why it reads no more is told by its end, which is watched.
        if written.is_err() {
            return;
        }
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
    let reason = tokio::select! {
        code = process.ended() => {
            // What it said last is still in the pipe.
            let _ = tokio::time::timeout(LAST_WORDS, &mut reading).await;
            match code {
                Some(code) => format!("the server ended with exit code {code}"),
                None => "the server was killed".to_owned(),
            }
        }
        _ = &mut reading => {
            // It closed its stdout: whatever it does now, it answers nothing any more.
            match tokio::time::timeout(LAST_WORDS, process.ended()).await {
                Ok(Some(code)) => format!("the server ended with exit code {code}"),
                Ok(None) => "the server was killed".to_owned(),
                Err(_) => "the server closed its stdout".to_owned(),
            }
        }
        () = stop.cancelled() => "it was closed".to_owned(),
    };
    reading.abort();
    session.end(reason);
    process.stop().await;
}

impl Link for Stdio {
    fn send<'a>(&'a self, session: &'a Arc<Session>, message: Outgoing) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let sent = match self.queue.try_send(message.text) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Closed(_)) => false,
                Err(mpsc::error::TrySendError::Full(text)) => tokio::select! {
                    sent = self.queue.send(text) => sent.is_ok(),
                    () = session.ended() => false,
                },
            };
            if sent {
                return Ok(());
            }
            // The pipe is broken; why is known in a moment.
            let _ = tokio::time::timeout(2 * LAST_WORDS, session.ended()).await;
            Err(Fault::NotSent(session.reason()))
        })
    }

    fn abandon(&self, session: &Session, id: u64) {
        if session.is_alive() {
            let params = json!({"requestId": id, "reason": "nobody waits for it any more"});
            let _ = self.queue.try_send(message::notification("notifications/cancelled", Some(&params)));
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
