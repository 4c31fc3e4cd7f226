//! Somebody else's code, held so that no panic of it gets out: not while it runs, and not when it is dropped.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;

/// A future of somebody else. Answers with what its panic said where it had one.
pub(crate) struct Contained<'a, T>(Option<BoxFuture<'a, T>>);

impl<'a, T> Contained<'a, T> {
    pub(crate) fn new(work: BoxFuture<'a, T>) -> Self {
        Self(Some(work))
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
        let work = &mut self.0;
        let mut done = None;
        let ended = caught(|| match work.as_mut().map(|work| work.as_mut().poll(task)) {
            Some(Poll::Ready(answer)) => {
                // Kept before the work is let go: a panic in its drop takes no answer away.
                done = Some(Ok(answer));
                *work = None;
            }
            Some(Poll::Pending) => {}
            None => done = Some(Err("asked after its end".to_owned())),
        });
        match (done, ended) {
            (Some(done), _) => Poll::Ready(done),
            (None, Ok(())) => Poll::Pending,
            (None, Err(panic)) => {
                self.let_go();
                Poll::Ready(Err(panic))
            }
        }
    }
}

impl<T> Drop for Contained<'_, T> {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Runs somebody else's work where it stands, until `over` says that nobody wants it any more: then `None`.
pub(crate) async fn contained_until<T>(
    work: impl Future<Output = T>,
    mut over: impl FnMut(&Context<'_>) -> Poll<()>,
) -> Option<Result<T, String>> {
    let mut work = pin!(Some(work));
    let ended = poll_fn(|task| {
        if over(task).is_ready() {
            return Poll::Ready(None);
        }
        let asked = caught(|| work.as_mut().as_pin_mut().map(|work| work.poll(task)));
        match asked {
            Ok(Some(Poll::Ready(answer))) => Poll::Ready(Some(Ok(answer))),
            Ok(Some(Poll::Pending)) => Poll::Pending,
            Ok(None) => Poll::Ready(None),
            Err(panic) => Poll::Ready(Some(Err(panic))),
        }
    })
    .await;
    // A panic in its drop takes no answer away.
    let _ = caught(|| work.set(None));
    ended
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
