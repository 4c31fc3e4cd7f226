//! Over two pipes: one thread reads, answers what it can on the spot and writes all of a burst at once.
//!
//! No runtime stands between a quick call and its answer. Calls that have to wait become tasks and write through a
//! thread of their own, so that a client that does not read holds up neither side.

use std::{
    io::{self, Read, Write},
    os::fd::AsFd,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{
    Gateway, Identity,
    message::{self, Message, Request, RpcError},
    revision::{Brought, Client},
    server::{Going, Listening, Reply},
    session::{Outlet, Session, lock},
};

/// The longest line that is read.
const LONGEST_LINE: usize = 16 << 20;

/// Read at once.
const CHUNK: usize = 64 << 10;

/// A pipe that can be written to takes this much without blocking.
const AT_ONCE: usize = 4096;

/// With so much unread, nothing more is taken in.
const MOST_UNREAD: usize = 64 << 20;

/// How long calls may finish when the client has closed its end, and then how long stopped ones may take to settle.
const FINISH: Duration = Duration::from_millis(1500);
const SETTLE: Duration = Duration::from_millis(1500);

impl Gateway {
    /// Serves one client on these two ends until it closes its own. Blocks this thread; calls that wait run on
    /// `runtime`.
    pub fn stdio<O: Write + AsFd + Send + 'static>(
        &self,
        identity: Identity,
        mut input: impl Read,
        output: O,
        runtime: &Handle,
    ) -> io::Result<()> {
        let _inside = runtime.enter();
        let pipe = Arc::new(Pipe::new(output));
        let writer = {
            let pipe = pipe.clone();
            std::thread::Builder::new().name("mcp-writer".to_owned()).spawn(move || pipe.write_on())?
        };
        let line =
            Line { gateway: self.clone(), session: Session::new(identity, self.run()), outlet: pipe.clone() };
        let read = line.read(&mut input, &*pipe);
        line.finish();
        pipe.close();
        let _ = writer.join();
        read
    }
}

/// One client at the other end of two pipes.
struct Line<O> {
    gateway: Gateway,
    session: Arc<Session>,
    outlet: Arc<Pipe<O>>,
}

impl<O: Write + AsFd + Send + 'static> Line<O> {
    fn read(&self, input: &mut impl Read, pipe: &Pipe<O>) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(CHUNK);
        let mut chunk = vec![0_u8; CHUNK];
        let mut answers = Vec::with_capacity(CHUNK);
        // True while the rest of a line that is too long passes by.
        let mut skipping = false;
        loop {
            let read = match input.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut rest = &chunk[..read];
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let (part, after) = (&rest[..end], &rest[end + 1..]);
                rest = after;
                if std::mem::take(&mut skipping) {
                    continue;
                }
                if buffer.is_empty() {
                    self.take(part, &mut answers);
                } else {
                    buffer.extend_from_slice(part);
                    self.take(&buffer, &mut answers);
                    buffer.clear();
                }
            }
            if !skipping {
                buffer.extend_from_slice(rest);
            }
            if buffer.len() > LONGEST_LINE {
                buffer = Vec::with_capacity(CHUNK);
                skipping = true;
                let error = RpcError::invalid_request(format!("a message has at most {LONGEST_LINE} bytes"));
                push_line(&mut answers, &error.answer(None));
            }
            pipe.flush(&mut answers);
        }
    }

    /// Takes one message in; what can be answered at once is added to `answers`.
    fn take(&self, line: &[u8], answers: &mut Vec<u8>) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        match Message::read(line) {
            Ok(Message::Request(request)) => match self.request(&request) {
                Going::Done(reply) => {
                    push_line(answers, &reply.body);
                    // Nothing of a session goes out before what it was agreed on.
                    if request.method == "initialize" {
                        self.outlet.flush(answers);
                    }
                }
                Going::On(reply) => {
                    let outlet = self.outlet.clone();
                    tokio::spawn(async move {
                        let reply = reply.await;
                        if !reply.unwanted {
                            outlet.send(reply.body);
                        }
                    });
                }
                Going::Listens(listening) => self.listen(listening),
            },
            Ok(Message::Notification { method, params }) => Gateway::told(&self.session, &method, params),
            Ok(Message::Response { id, answer }) => self.session.answered(id, answer),
            Err((id, error)) => push_line(answers, &error.answer(id)),
        }
    }

    fn request(&self, request: &Request<'_>) -> Going {
        self.try_request(request).unwrap_or_else(|error| Going::Done(Reply::error(Some(request.id), &error)))
    }

    fn try_request(&self, request: &Request<'_>) -> Result<Going, RpcError> {
        if request.method == "initialize" {
            let (reply, client) = self.gateway.initialize(request.id, request.params)?;
            if self.session.client().is_none() {
                self.tell_changes();
            }
            self.session.introduce(client);
            return Ok(Going::Done(reply));
        }
        let brought = Brought::of(request.params)?;
        let client: Arc<Client> = match (self.session.client(), brought.meta.version) {
            (Some(client), None) => client,
            (None, None) if request.method == "ping" => {
                return Ok(Going::Done(Reply::result(request.id, |out| out.extend_from_slice(b"{}"))));
            }
            _ => brought.meta.stateless()?,
        };
        let outlet: Arc<dyn Outlet> = self.outlet.clone();
        Ok(self.gateway.answer(&self.session, &client, request, &brought, &outlet))
    }

    /// Tells a client with a session when tools change.
    fn tell_changes(&self) {
        let (mut changes, outlet) = (self.gateway.inner.changes.subscribe(), self.outlet.clone());
        let run = self.session.run.token().clone();
        tokio::spawn(async move {
            while let Some(Ok(())) = run.run_until_cancelled(changes.changed()).await {
                outlet
                    .send(message::notification("notifications/tools/list_changed", &serde_json::json!({})));
            }
        });
    }

    fn listen(&self, listening: Listening) {
        let token = CancellationToken::new();
        let under_way = match self.session.begin(&listening.id, &token) {
            Ok(under_way) => under_way,
            Err(error) => return self.outlet.send(error.answer(Some(message::Id::again(&listening.id)))),
        };
        let (mut changes, outlet) = (self.gateway.inner.changes.subscribe(), self.outlet.clone());
        outlet.send(listening.acknowledged());
        tokio::spawn(async move {
            while let Some(Ok(())) = token.run_until_cancelled(changes.changed()).await {
                if listening.tools {
                    outlet.send(listening.changed());
                }
            }
            drop(under_way);
        });
    }

    /// The client has closed its end: what is under way may finish, and is then stopped.
    fn finish(&self) {
        let wait = |limit: Duration| {
            let until = Instant::now() + limit;
            while self.session.load() > 0 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        wait(FINISH);
        self.session.stop();
        wait(SETTLE);
        self.session.run.token().cancel();
    }
}

fn push_line(out: &mut Vec<u8>, message: &[u8]) {
    out.extend_from_slice(message);
    out.push(b'\n');
}

/// The way out: whoever has something writes it at once where that cannot block, else a thread does.
struct Pipe<O> {
    out: Mutex<O>,
    unread: Mutex<Unread>,
    changed: Condvar,
}

#[derive(Default)]
struct Unread {
    bytes: Vec<u8>,
    writing: bool,
    closed: bool,
}

impl<O: Write + AsFd> Pipe<O> {
    fn new(out: O) -> Self {
        Self { out: Mutex::new(out), unread: Mutex::default(), changed: Condvar::new() }
    }

    /// Sends what a burst came to, and waits only where the client has left very much unread.
    fn flush(&self, answers: &mut Vec<u8>) {
        if answers.is_empty() {
            return;
        }
        let mut unread = lock(&self.unread);
        if unread.bytes.is_empty() && !unread.writing && answers.len() <= AT_ONCE {
            // Nobody else writes, and nobody begins to while this is held.
            let mut out = lock(&self.out);
            if takes_more(&*out) {
                let written = out.write_all(answers).and_then(|()| out.flush());
                unread.closed |= written.is_err();
                answers.clear();
                return;
            }
        }
        unread.bytes.append(answers);
        self.changed.notify_all();
        while unread.bytes.len() > MOST_UNREAD && !unread.closed {
            unread = self.changed.wait(unread).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes until the pipe is closed.
    fn write_on(&self) {
        loop {
            let bytes = {
                let mut unread = lock(&self.unread);
                unread.writing = false;
                self.changed.notify_all();
                while unread.bytes.is_empty() && !unread.closed {
                    unread = self.changed.wait(unread).unwrap_or_else(PoisonError::into_inner);
                }
                if unread.bytes.is_empty() {
                    return;
                }
                unread.writing = true;
                std::mem::take(&mut unread.bytes)
            };
            let mut out = lock(&self.out);
            if out.write_all(&bytes).and_then(|()| out.flush()).is_err() {
                drop(out);
                let mut unread = lock(&self.unread);
                unread.closed = true;
                unread.bytes.clear();
            }
        }
    }

    fn close(&self) {
        lock(&self.unread).closed = true;
        self.changed.notify_all();
    }
}

/// True when the other end takes some bytes without making us wait.
fn takes_more(out: &impl AsFd) -> bool {
    let mut ends = [PollFd::new(out, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(rustix::event::poll(&mut ends, Some(&now)), Ok(1)) && ends[0].revents().contains(PollFlags::OUT)
}

impl<O: Write + AsFd + Send + 'static> Outlet for Pipe<O> {
    fn send(&self, message: Vec<u8>) {
        let mut unread = lock(&self.unread);
        if unread.closed {
            return;
        }
        push_line(&mut unread.bytes, &message);
        self.changed.notify_all();
    }
}

impl<O> std::fmt::Debug for Pipe<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pipe")
    }
}
