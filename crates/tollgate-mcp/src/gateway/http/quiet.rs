//! A connection that wakes itself while it runs goes on at once.
//!
//! HTTP's machinery does so for every request, when its body was read. To the scheduler that is a task that gives way,
//! for which it wakes another thread.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// So often it goes on by itself before others have their turn.
const AGAIN: usize = 3;

/// A future whose own wake-ups stay with it.
pub(super) struct Quiet<F> {
    inner: F,
    bell: Arc<Bell>,
    waker: Waker,
}

/// What the future is woken by.
struct Bell {
    state: AtomicU8,
    task: AtomicWaker,
}

const ASLEEP: u8 = 0;
const RUNNING: u8 = 1;
const RUNG: u8 = 2;

impl<F> Quiet<F> {
    pub(super) fn new(inner: F) -> Self {
        let bell = Arc::new(Bell { state: AtomicU8::new(ASLEEP), task: AtomicWaker::new() });
        Self { inner, waker: Waker::from(bell.clone()), bell }
    }

    pub(super) fn inner(&mut self) -> &mut F {
        &mut self.inner
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // While it runs it looks for itself; rung already, it is on its way.
        if self.state.swap(RUNG, Ordering::AcqRel) == ASLEEP {
            self.task.wake();
        }
    }
}

impl<F: Future + Unpin> Future for Quiet<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, bell, waker } = &mut *self;
        bell.task.register(task.waker());
        for _ in 0..AGAIN {
            bell.state.store(RUNNING, Ordering::Release);
            if let Poll::Ready(done) = Pin::new(&mut *inner).poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(done);
            }
            let quiet = bell.state.compare_exchange(RUNNING, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
            if quiet.is_ok() {
                return Poll::Pending;
            }
        }
        bell.state.store(RUNG, Ordering::Release);
        task.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts how often its task is woken.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn polled<F: Future + Unpin>(quiet: &mut Quiet<F>, count: &Arc<Count>) -> Poll<F::Output> {
        Pin::new(quiet).poll(&mut Context::from_waker(&Waker::from(count.clone())))
    }

    #[test]
    fn one_that_wakes_itself_is_polled_again_without_waking_its_task() {
        let (count, mut polls) = (Arc::new(Count::default()), 0);
        let mut quiet = Quiet::new(std::future::poll_fn(|task| {
            polls += 1;
            if polls == 1 {
                task.waker().wake_by_ref();
            }
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert!(polled(&mut quiet, &count).is_pending());
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        assert!(polled(&mut quiet, &count).is_ready());
        drop(quiet);
        assert_eq!(polls, 3);
    }

    #[test]
    fn one_that_never_rests_gives_way_and_is_woken() {
        let count = Arc::new(Count::default());
        let mut quiet = Quiet::new(std::future::poll_fn(|task| {
            task.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        assert!(polled(&mut quiet, &count).is_pending());
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_others_wake_is_woken() {
        let (send, receive) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn(Quiet::new(receive));
        tokio::task::yield_now().await;
        send.send(7).unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(7));
    }
}
