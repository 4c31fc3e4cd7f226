//! A future beside others in one task: it is polled when it was woken itself, not whenever one of the others was.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// A future with a bell of its own. It was rung once, so that it is polled when somebody first waits for it.
pub(crate) struct Belled<F> {
    inner: F,
    bell: Arc<Bell>,
    waker: Waker,
}

/// What the future is woken by.
struct Bell {
    rung: AtomicBool,
    task: AtomicWaker,
}

impl<F> Belled<F> {
    pub(crate) fn new(inner: F) -> Self {
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: AtomicWaker::new() });
        Self { inner, waker: Waker::from(bell.clone()), bell }
    }

    pub(crate) fn into_inner(self) -> F {
        self.inner
    }
}

impl<F: Future + Unpin> Belled<F> {
    /// Polls it now, before there is a task that waits for it.
    pub(crate) fn begin(&mut self) -> Poll<F::Output> {
        self.bell.rung.store(false, Ordering::Release);
        Pin::new(&mut self.inner).poll(&mut Context::from_waker(&self.waker))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<F: Future + Unpin> Future for Belled<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        self.bell.task.register(task.waker());
        if !self.bell.rung.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let Self { inner, waker, .. } = &mut *self;
        Pin::new(inner).poll(&mut Context::from_waker(waker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_polled_first_and_then_only_when_it_was_woken() {
        let (send, receive) = tokio::sync::oneshot::channel::<u8>();
        let (mut receive, mut polls) = (receive, 0);
        let mut belled = Belled::new(std::future::poll_fn(|task| {
            polls += 1;
            Pin::new(&mut receive).poll(task)
        }));
        for _ in 0..3 {
            std::future::poll_fn(|task| {
                assert!(Pin::new(&mut belled).poll(task).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        send.send(7).unwrap();
        assert_eq!(belled.await, Ok(7));
        assert_eq!(polls, 2);
    }
}
