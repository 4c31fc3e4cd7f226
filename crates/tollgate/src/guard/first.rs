//! Work that is tried once where it stands, and boxed only where it has to wait.
//!
//! Quick work ends in the first try, before any timer is made. The code of the wait, and the room for it, lie apart.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;

/// Asks `first` when it is first polled, on the waiting task's own waker: for the answer, or for what to wait for.
pub(super) fn at_first<'a, T, F>(first: F) -> impl Future<Output = T> + Send
where
    T: Send + 'a,
    F: FnOnce(&mut Context<'_>) -> Result<T, BoxFuture<'a, T>> + Send + Unpin,
{
    First { first: Some(first), later: None }
}

struct First<'a, T, F> {
    first: Option<F>,
    later: Option<BoxFuture<'a, T>>,
}

impl<'a, T, F> Future for First<'a, T, F>
where
    F: FnOnce(&mut Context<'_>) -> Result<T, BoxFuture<'a, T>> + Unpin,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<T> {
        if let Some(first) = self.first.take() {
            match first(task) {
                Ok(done) => return Poll::Ready(done),
                Err(later) => self.later = Some(later),
            }
        }
        match &mut self.later {
            Some(later) => waited_for(later, task),
            // Asked again after its end, it has no answer, as any other future.
            None => Poll::Pending,
        }
    }
}

#[cold]
fn waited_for<T>(later: &mut BoxFuture<'_, T>, task: &mut Context<'_>) -> Poll<T> {
    later.as_mut().poll(task)
}
