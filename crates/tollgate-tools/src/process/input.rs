//! What a program reads, written by us, and whether it has read any of it.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::{io::AsyncWrite, net::unix::pipe};

/// The end of its pipe that is ours. The program sees the end of its input when this is dropped.
pub(super) struct Input(Arc<Fed>);

/// Tells of an [`Input`] without keeping it open.
pub(super) struct Untouched(Weak<Fed>);

struct Fed {
    pipe: pipe::Sender,
    written: AtomicU64,
}

impl Input {
    pub(super) fn new(pipe: pipe::Sender) -> (Self, Untouched) {
        let fed = Arc::new(Fed { pipe, written: AtomicU64::new(0) });
        let untouched = Untouched(Arc::downgrade(&fed));
        (Self(fed), untouched)
    }
}

impl Untouched {
    /// True while everything that was written still lies in the pipe; false also where that cannot be seen any more.
    pub(super) fn is_true(&self) -> bool {
        let Some(fed) = self.0.upgrade() else { return false };
        let written = fed.written.load(Ordering::Acquire);
        rustix::io::ioctl_fionread(&fed.pipe).is_ok_and(|unread| unread == written)
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.pipe.poll_write_ready(cx))?;
            match self.0.pipe.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(written) => {
                    self.0.written.fetch_add(written as u64, Ordering::Release);
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
