//! What a program reads, written by us, and whether it has read any of it.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::{io::AsyncWrite, net::unix::pipe};

/// The end of its pipe that is ours. The program sees the end of its input when this is dropped.
pub(super) struct Input {
    fed: Arc<Fed>,
    at_its_end: Arc<OnceLock<bool>>,
}

/// Tells of an [`Input`] without keeping it open.
pub(super) struct Untouched {
    fed: Weak<Fed>,
    // How it was when the program was found to read no more: that does not change, whatever becomes of the pipe.
    at_its_end: Arc<OnceLock<bool>>,
}

struct Fed {
    pipe: pipe::Sender,
    written: AtomicU64,
}

impl Input {
    pub(super) fn new(pipe: pipe::Sender) -> (Self, Untouched) {
        let fed = Arc::new(Fed { pipe, written: AtomicU64::new(0) });
        let at_its_end = Arc::<OnceLock<_>>::default();
        let untouched = Untouched { fed: Arc::downgrade(&fed), at_its_end: at_its_end.clone() };
        (Self { fed, at_its_end }, untouched)
    }
}

impl Untouched {
    /// True while everything that was written still lies in the pipe; false also where that cannot be seen any more.
    pub(super) fn is_true(&self) -> bool {
        match self.fed.upgrade() {
            Some(fed) => fed.lies_there(),
            None => self.at_its_end.get().copied().unwrap_or(false),
        }
    }
}

impl Fed {
    fn lies_there(&self) -> bool {
        let written = self.written.load(Ordering::Acquire);
        rustix::io::ioctl_fionread(&self.pipe).is_ok_and(|unread| unread == written)
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.fed.pipe.poll_write_ready(cx))?;
            match self.fed.pipe.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    if error.kind() == io::ErrorKind::BrokenPipe {
                        let _ = self.at_its_end.set(self.fed.lies_there());
                    }
                    return Poll::Ready(Err(error));
                }
                Ok(written) => {
                    self.fed.written.fetch_add(written as u64, Ordering::Release);
                    return Poll::Ready(Ok(written));
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// What is known once the program is gone, found out by a write, and its pipe given up.
    async fn known_after(read: usize) -> bool {
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let (mut input, untouched) = Input::new(sender);
        input.write_all(b"hello").await.unwrap();
        receiver.read_exact(&mut vec![0; read]).await.unwrap();
        drop(receiver);
        assert_eq!(input.write_all(b"more").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        drop(input);
        untouched.is_true()
    }

    #[tokio::test]
    async fn that_nothing_was_read_is_known_although_the_pipe_was_given_up_for_it() {
        assert!(known_after(0).await);
    }

    #[tokio::test]
    async fn that_something_was_read_is_known_as_well() {
        assert!(!known_after(1).await);
    }

    #[tokio::test]
    async fn of_a_pipe_that_was_given_up_while_somebody_could_read_it_nothing_is_known() {
        let (sender, _receiver) = pipe::pipe().unwrap();
        let (input, untouched) = Input::new(sender);
        drop(input);
        assert!(!untouched.is_true());
    }
}
