//! The way to a program's stdin: a message goes out at once where nothing else is under way, else with all that waits.

use std::{
    io,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use tokio::{io::AsyncWrite, sync::Notify};

/// With so many bytes unread, whoever has more waits.
const ROOM: usize = 1 << 20;

/// One end of a pipe, shared by all who have something to say.
pub(super) struct Pipe {
    state: Mutex<State>,
    /// There is something for the task that writes.
    more: Notify,
    /// There is room again, or there will never be.
    room: Notify,
}

struct State {
    // `None` once it is closed: the other end reads that there will be no more.
    to: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    waiting: Vec<u8>,
    // How much of what waits is written already.
    written: usize,
}

/// Whether a message may wait for others that are about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Nothing else is under way: nobody would come to share the write with it.
    Now,
    /// Others are: what they send at the same moment is written together.
    Together,
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Sent,
    Full,
    Closed,
}

impl Pipe {
    pub(super) fn new(to: Box<dyn AsyncWrite + Send + Unpin>) -> Self {
        let state = State { to: Some(to), waiting: Vec::new(), written: 0 };
        Self { state: Mutex::new(state), more: Notify::new(), room: Notify::new() }
    }

    /// Takes one line, its end included. It is written whole or not at all, and in the order of these calls.
    pub(super) fn push(&self, line: &[u8], pace: Pace) -> Pushed {
        let mut state = self.state();
        let State { to: Some(to), waiting, written } = &mut *state else { return Pushed::Closed };
        let mut rest = line;
        if waiting.is_empty() && pace == Pace::Now {
            // The task that writes has nothing to do, so that no waker of its own is replaced here.
            let mut task = Context::from_waker(Waker::noop());
            match Pin::new(&mut *to).poll_write(&mut task, line) {
                Poll::Ready(Ok(some)) => rest = &line[some..],
                Poll::Ready(Err(_)) => {
                    self.shut(state);
                    return Pushed::Closed;
                }
                Poll::Pending => {}
            }
            if rest.is_empty() && Pin::new(to).poll_flush(&mut task).is_ready() {
                return Pushed::Sent;
            }
        } else if waiting.len() - *written > ROOM {
            return Pushed::Full;
        }
        waiting.extend_from_slice(rest);
        drop(state);
        self.more.notify_one();
        Pushed::Sent
    }

    /// Resolves when it is worth trying again.
    pub(super) async fn room(&self) {
        let room = self.room.notified();
        let full = {
            let state = self.state();
            state.to.is_some() && state.waiting.len() - state.written > ROOM
        };
        if full {
            room.await;
        }
    }

    /// Writes what waits, for as long as somebody reads.
    pub(super) async fn write(&self) {
        loop {
            self.more.notified().await;
            // Whoever is ready to send now does so before the write that all of them share.
            tokio::task::yield_now().await;
            let written = std::future::poll_fn(|task| self.poll_write(task)).await;
            if written.is_err() {
                return self.close();
            }
        }
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.shut(self.state());
    }

    fn shut(&self, mut state: MutexGuard<'_, State>) {
        *state = State { to: None, waiting: Vec::new(), written: 0 };
        drop(state);
        self.room.notify_waiters();
    }

    fn poll_write(&self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.state();
        let State { to: Some(to), waiting, written } = &mut *state else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        while *written < waiting.len() {
            match ready!(Pin::new(&mut *to).poll_write(task, &waiting[*written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                some => *written += some,
            }
        }
        waiting.clear();
        *written = 0;
        // A large message once must not hold its memory for good.
        waiting.shrink_to(ROOM / 16);
        ready!(Pin::new(to).poll_flush(task))?;
        drop(state);
        self.room.notify_waiters();
        Poll::Ready(Ok(()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_message_alone_is_there_before_anything_else_runs() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let pipe = Pipe::new(Box::new(ours));
        assert_eq!(pipe.push(b"one\n", Pace::Now), Pushed::Sent);
        let mut said = [0; 4];
        theirs.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"one\n");
    }

    #[tokio::test]
    async fn what_does_not_fit_goes_on_in_order_and_whole() {
        let (ours, mut theirs) = tokio::io::duplex(10);
        let pipe = Arc::new(Pipe::new(Box::new(ours)));
        let writer = tokio::spawn({
            let pipe = pipe.clone();
            async move { pipe.write().await }
        });
        let lines: Vec<String> = (0..200).map(|number| format!("line {number}\n")).collect();
        for (at, line) in lines.iter().enumerate() {
            let pace = if at % 3 == 0 { Pace::Now } else { Pace::Together };
            assert_eq!(pipe.push(line.as_bytes(), pace), Pushed::Sent);
        }
        let whole = lines.concat();
        let mut said = vec![0; whole.len()];
        theirs.read_exact(&mut said).await.unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), whole);
        writer.abort();
    }

    #[tokio::test]
    async fn a_reader_that_does_not_read_holds_up_those_who_have_more_and_nobody_is_lost_at_its_end() {
        let (ours, theirs) = tokio::io::duplex(10);
        let pipe = Arc::new(Pipe::new(Box::new(ours)));
        let writer = tokio::spawn({
            let pipe = pipe.clone();
            async move { pipe.write().await }
        });
        let line = vec![b'x'; ROOM];
        while pipe.push(&line, Pace::Together) == Pushed::Sent {}
        assert_eq!(pipe.push(b"more\n", Pace::Together), Pushed::Full);
        let waiting = tokio::spawn({
            let pipe = pipe.clone();
            async move { pipe.room().await }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiting.is_finished());
        drop(theirs);
        tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap();
        assert_eq!(pipe.push(b"more\n", Pace::Now), Pushed::Closed);
        writer.await.unwrap();
    }
}
