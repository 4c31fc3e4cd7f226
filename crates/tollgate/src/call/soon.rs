//! What a phase says: at once where nothing has to be waited for, later otherwise.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use futures_util::future::BoxFuture;

/// An answer that is there already, or one that is waited for.
///
/// Most phases of most calls wait for nobody. Those that do are boxed when it comes to that, so that no call carries room
/// for waits it never has.
#[must_use = "a phase that is not awaited loses its call"]
pub enum Soon<'a, T> {
    /// Known; `None` once it was taken.
    Now(Option<T>),
    /// Somebody is waited for.
    Later(BoxFuture<'a, T>),
}

/// Awaits a [`Soon`]: one that is there already leaves nothing to wait for behind.
macro_rules! soon {
    ($answer:expr) => {
        match $answer {
            $crate::call::Soon::Now(Some(answer)) => answer,
            $crate::call::Soon::Now(None) => $crate::call::Soon::spent(),
            $crate::call::Soon::Later(answer) => answer.await,
        }
    };
}
pub(crate) use soon;

impl<'a, T> Soon<'a, T> {
    pub(crate) fn now(answer: T) -> Self {
        Self::Now(Some(answer))
    }

    /// Nobody takes an answer twice.
    #[cold]
    pub(crate) fn spent() -> T {
        unreachable!("a phase was asked for its answer a second time")
    }

    /// Tries work once. What has to wait is polled again by whoever waits, with a waker of its own.
    pub(crate) fn tried(mut work: BoxFuture<'a, T>) -> Self {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Self::now(answer),
            Poll::Pending => Self::Later(work),
        }
    }

    #[cold]
    pub(crate) fn later(answer: impl Future<Output = T> + Send + 'a) -> Self {
        Self::Later(Box::pin(answer))
    }
}

/// Apart from the code of calls that wait for nobody.
#[cold]
fn waited_for<T>(answer: &mut BoxFuture<'_, T>, task: &mut Context<'_>) -> Poll<T> {
    answer.as_mut().poll(task)
}

impl<T: Unpin> Future for Soon<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<T> {
        match &mut *self {
            // Asked again after its end, it has no answer, as any other future.
            Self::Now(answer) => answer.take().map_or(Poll::Pending, Poll::Ready),
            Self::Later(answer) => waited_for(answer, task),
        }
    }
}
