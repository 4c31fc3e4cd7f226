//! Somebody else's code, held so that no panic of it gets out: not while it runs, and not when it is dropped.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;

/// A future of somebody else. Answers with what its panic said where it had one.
pub(crate) struct Contained<'a, T>(Option<BoxFuture<'a, T>>);

impl<'a, T> Contained<'a, T> {
    pub(crate) fn new(work: BoxFuture<'a, T>) -> Self {
        Self(Some(work))
    }

    /// Polls it. What comes of it is left in `done`, which is empty until then.
    pub(crate) fn poll_into(
        &mut self,
        task: &mut Context<'_>,
        done: &mut Option<Result<T, String>>,
    ) -> Poll<()> {
        let work = &mut self.0;
        let ended = caught(|| match work.as_mut().map(|work| work.as_mut().poll(task)) {
            Some(Poll::Ready(answer)) => {
                // Kept before the work is let go: a panic in its drop takes no answer away.
                *done = Some(Ok(answer));
                *work = None;
            }
            Some(Poll::Pending) => {}
            None => *done = Some(Err("asked after its end".to_owned())),
        });
        match (&done, ended) {
            (Some(_), _) => Poll::Ready(()),
            (None, Ok(())) => Poll::Pending,
            (None, Err(panic)) => {
                self.let_go();
                *done = Some(Err(panic));
                Poll::Ready(())
            }
        }
    }

    fn let_go(&mut self) {
        if let Some(work) = self.0.take() {
            let _ = caught(|| drop(work));
        }
    }
}

impl<T> Future for Contained<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let mut done = None;
        let ended = self.poll_into(task, &mut done);
        // Ready, it is there.
        done.map_or(Poll::Pending, |done| ended.map(|()| done))
    }
}

impl<T> Drop for Contained<'_, T> {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Runs somebody else's work where it stands, until `over` says that nobody wants it any more: then `None`.
///
/// `work` is pinned where it is made: handed over by value, there would be room for it twice.
pub(crate) async fn contained_until<T>(
    work: Pin<&mut Option<impl Future<Output = T>>>,
    mut over: impl FnMut(&Context<'_>) -> Poll<()>,
) -> Option<Result<T, String>> {
    // Let go by this, whether it ended or whoever polls it went away.
    let mut work = LetGo(work);
    poll_fn(|task| {
        if over(task).is_ready() {
            return Poll::Ready(None);
        }
        match caught(|| work.0.as_mut().as_pin_mut().map(|work| work.poll(task))) {
            Ok(Some(Poll::Ready(answer))) => Poll::Ready(Some(Ok(answer))),
            Ok(Some(Poll::Pending)) => Poll::Pending,
            Ok(None) => Poll::Ready(None),
            Err(panic) => Poll::Ready(Some(Err(panic))),
        }
    })
    .await
}

/// Drops what it holds so that no panic of that gets out.
struct LetGo<'a, T>(Pin<&'a mut Option<T>>);

impl<T> Drop for LetGo<'_, T> {
    fn drop(&mut self) {
        let _ = caught(|| self.0.set(None));
    }
}

/// Asks somebody else's code; what its panic said where it had one.
pub(crate) fn caught<T>(ask: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(said)
}

/// What a panic said, for the operator. What it threw is somebody else's too, and may panic when it is dropped.
#[cold]
fn said(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use futures_util::{future::pending, task::noop_waker};

    use super::*;

    struct FailsWhenDropped;

    impl Drop for FailsWhenDropped {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("dropped"));
        }
    }

    #[test]
    fn work_that_is_left_half_way_and_panics_while_it_is_dropped_harms_nobody() {
        let mut work = Box::pin(Some(async {
            let _held = FailsWhenDropped;
            pending::<()>().await;
        }));
        let mut asked = Box::pin(contained_until(work.as_mut(), |_| Poll::Pending));
        assert!(asked.as_mut().poll(&mut Context::from_waker(&noop_waker())).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(asked))).is_ok());
    }

    struct Answers(FailsWhenDropped);

    impl Future for Answers {
        type Output = u8;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
            let Self(FailsWhenDropped) = *self;
            Poll::Ready(7)
        }
    }

    #[test]
    fn work_that_panics_while_it_is_dropped_has_answered_all_the_same() {
        let mut work = Box::pin(Some(Answers(FailsWhenDropped)));
        let mut asked = Box::pin(contained_until(work.as_mut(), |_| Poll::Pending));
        let ended = asked.as_mut().poll(&mut Context::from_waker(&noop_waker()));
        assert_eq!(ended, Poll::Ready(Some(Ok(7))));
    }
}
