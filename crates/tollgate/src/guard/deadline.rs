//! Drives a body to its end, its deadline or its cancellation, whichever comes first.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    contained::{Contained, caught},
    first::at_first,
    pulse::Late,
};
use crate::{
    event::Steps,
    tool::{Cx, Timeouts},
};

/// How driving a body ended.
#[derive(Debug)]
pub(crate) enum Ended<T> {
    /// It came to its own end, maybe while it was being stopped.
    Done(T),
    /// It did not end in time.
    Late(Late),
    /// It was cancelled and did not end by itself.
    Cancelled,
}

/// What a body's deadlines are counted from.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// When it was sent off, where that was not just now.
    pub(crate) sent: Option<Instant>,
    /// When the whole call, retries included, must be over.
    pub(crate) until: Option<Instant>,
}

/// How long a body that was told to stop may take to clean up; [`Timeouts`] tells of it.
const GRACE: Duration = Duration::from_millis(250);

/// Drives `body` until it ends, a deadline passes or the call is cancelled.
///
/// On a deadline or a cancellation the body
/// is told through its token and has a moment to end by itself; what it then says is taken.
pub(crate) fn drive<'a, 's, F: Future<Output: Send> + Unpin + Send + 'a>(
    body: F,
    cx: &'a Cx,
    timeouts: &'a Timeouts,
    clock: &'a mut Clock,
    steps: &'a mut Steps<'s>,
) -> Drive<'a, 's, F> {
    Drive { body: Some(body), cx, timeouts, clock, steps, later: None }
}

/// A body on its way to its end. Quick ones get there the first time they are asked.
pub(crate) struct Drive<'a, 's, F: Future> {
    // Given away to the wait.
    body: Option<F>,
    cx: &'a Cx,
    timeouts: &'a Timeouts,
    clock: &'a mut Clock,
    steps: &'a mut Steps<'s>,
    later: Option<BoxFuture<'a, Ended<F::Output>>>,
}

impl<'a, F: Future<Output: Send> + Unpin + Send + 'a> Future for Drive<'a, '_, F> {
    type Output = Ended<F::Output>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let drive = &mut *self;
        let Some(body) = &mut drive.body else { return drive.wait(task) };
        match Pin::new(body).poll(task) {
            Poll::Ready(done) => {
                drive.cx.pulse().tell_held(drive.steps);
                Poll::Ready(Ended::Done(done))
            }
            Poll::Pending => drive.begin_to_wait(task),
        }
    }
}

impl<'a, F: Future<Output: Send> + Unpin + Send + 'a> Drive<'a, '_, F> {
    /// The body has nothing to say yet: has the task woken when there is something to look at.
    #[inline(never)]
    fn begin_to_wait(&mut self, task: &mut Context<'_>) -> Poll<Ended<F::Output>> {
        // What was noted so far reaches observers before the long wait begins.
        self.cx.pulse().release(self.steps);
        let (cx, timeouts) = (self.cx, self.timeouts);
        let started = self.clock.sent.unwrap_or_else(Instant::now);
        let until = *self.clock.until.get_or_insert_with(|| later(started, timeouts.total));
        self.later = self.body.take().map(|body| drive_on(body, cx, timeouts, started, until));
        self.wait(task)
    }

    #[cold]
    fn wait(&mut self, task: &mut Context<'_>) -> Poll<Ended<F::Output>> {
        match &mut self.later {
            Some(later) => later.as_mut().poll(task),
            // Asked again after its end, it has no answer, as any other future.
            None => Poll::Pending,
        }
    }
}

// Boxed, like every wait here: a call that never waits does not carry the room for timers with it, and their code lies
// apart from its own.
#[inline(never)]
fn drive_on<'a, F: Future<Output: Send> + Unpin + Send + 'a>(
    mut body: F,
    cx: &'a Cx,
    timeouts: &'a Timeouts,
    started: Instant,
    until: Instant,
) -> BoxFuture<'a, Ended<F::Output>> {
    let next_deadline = move || cx.pulse().next_deadline(timeouts, started, until);
    // Polled a moment ago, on the same waker: it has nothing new to say before that is woken.
    let mut polled = true;
    Box::pin(async move {
        loop {
            let (next, late) = next_deadline();
            let on = std::future::poll_fn(|task| {
                if std::mem::take(&mut polled) { Poll::Pending } else { Pin::new(&mut body).poll(task) }
            });
            tokio::select! {
                biased;
                done = on => return Ended::Done(done),
                () = cx.stopped() => return stop(&mut body, cx, Ended::Cancelled).await,
                () = sleep_until(next) => {
                    // Progress may have moved the deadline while we slept.
                    if next_deadline().0 <= Instant::now() {
                        return stop(&mut body, cx, Ended::Late(late)).await;
                    }
                }
            }
        }
    })
}

/// How a short piece of somebody else's code ended: a check, a hook.
#[derive(Debug)]
pub(crate) enum Guarded<T> {
    Done(T),
    Panicked(String),
    Late,
    Cancelled,
}

impl<T> Guarded<T> {
    /// The same, but late where it took longer than that since `began`: what blocks its thread is seen only when it is over.
    pub(crate) fn within(self, limit: Duration, began: Instant) -> Self {
        match self {
            Self::Done(_) if began.elapsed() > limit => Self::Late,
            other => other,
        }
    }
}

/// Runs somebody else's code with panics caught, within a limit, until cancelled. The token is asked for where there is
/// something to wait for.
pub(crate) fn guarded<'a, T: Send + 'a>(
    work: BoxFuture<'a, T>,
    limit: Duration,
    token: impl FnOnce() -> &'a CancellationToken + Send + Unpin,
    steps: &mut Steps<'_>,
) -> impl Future<Output = Guarded<T>> + Send {
    at_first(move |task| {
        let mut work = Contained::new(work);
        match Pin::new(&mut work).poll(task) {
            Poll::Ready(Ok(value)) => Ok(Guarded::Done(value)),
            Poll::Ready(Err(panic)) => Ok(Guarded::Panicked(panic)),
            Poll::Pending => {
                steps.flush();
                Err(guarded_on(work, limit, token()))
            }
        }
    })
}

#[inline(never)]
fn guarded_on<'a, T: Send + 'a>(
    work: Contained<'a, T>,
    limit: Duration,
    token: &'a CancellationToken,
) -> BoxFuture<'a, Guarded<T>> {
    Box::pin(async move {
        match tokio::time::timeout(limit, until_cancelled(work, token)).await {
            Ok(Some(Ok(value))) => Guarded::Done(value),
            Ok(Some(Err(panic))) => Guarded::Panicked(panic),
            Ok(None) => Guarded::Cancelled,
            Err(_) => Guarded::Late,
        }
    })
}

/// Waits without a limit, panics caught. `None` when the token was cancelled first.
pub(crate) fn cancellable<'a, T: Send + 'a>(
    work: BoxFuture<'a, T>,
    token: &'a CancellationToken,
) -> impl Future<Output = Option<Result<T, String>>> + Send {
    at_first(move |task| {
        let mut work = Contained::new(work);
        match Pin::new(&mut work).poll(task) {
            Poll::Ready(done) => Ok(Some(done)),
            Poll::Pending => Err(until_cancelled(work, token)),
        }
    })
}

/// Waits for work that nobody cancels, panics caught, and no longer than `limit`: then it says so. Where the runtime has no
/// clock to wait by, it takes as long as it takes.
pub(crate) fn patiently<'a, T: Send + 'a>(
    work: BoxFuture<'a, Result<T, String>>,
    limit: Duration,
) -> impl Future<Output = Result<T, String>> + Send {
    at_first(move |task| {
        let mut work = Contained::new(work);
        match Pin::new(&mut work).poll(task) {
            Poll::Ready(done) => Ok(done.unwrap_or_else(Err)),
            Poll::Pending => Err(Box::pin(async move {
                let Ok(clock) = caught(|| tokio::time::sleep(limit)) else {
                    return work.await.unwrap_or_else(Err);
                };
                tokio::select! {
                    biased;
                    done = work => done.unwrap_or_else(Err),
                    () = clock => Err(format!("there was no answer within {limit:?}")),
                }
            })),
        }
    })
}

fn until_cancelled<'a, F: Future + Send + 'a>(
    work: F,
    token: &'a CancellationToken,
) -> BoxFuture<'a, Option<F::Output>> {
    Box::pin(async move {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = token.cancelled() => None,
        }
    })
}

/// `at` and `wait` after it, where a clock can say that; ten years from there otherwise.
pub(crate) fn later(at: Instant, wait: Duration) -> Instant {
    at.checked_add(wait.min(Duration::from_secs(315_360_000))).unwrap_or(at)
}

async fn stop<F: Future + Unpin>(body: &mut F, cx: &Cx, otherwise: Ended<F::Output>) -> Ended<F::Output> {
    cx.token().cancel();
    tokio::time::timeout(GRACE, body).await.map_or(otherwise, Ended::Done)
}
