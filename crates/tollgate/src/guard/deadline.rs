//! Drives a body to its end, its deadline or its cancellation, whichever comes first.

use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, OnceLock, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{contained::Contained, hourglass::Hourglass};
use crate::{
    event::{Beacon, Progress, Steps},
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

/// Which deadline passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Connect(Duration),
    Idle(Duration),
    Total(Duration),
}

/// How long a body that was told to stop may take to clean up.
const GRACE: Duration = Duration::from_millis(250);

/// Polls once, on the caller's own waker. Quick work ends here, before any timer is made.
fn first_poll<F: Future + Unpin>(future: &mut F) -> impl Future<Output = Poll<F::Output>> {
    std::future::poll_fn(|task: &mut Context<'_>| Poll::Ready(Pin::new(&mut *future).poll(task)))
}

/// Drives `body` until it ends, a deadline passes or the call is cancelled.
///
/// `until` is when the whole call, retries included, must be over. On a deadline or a cancellation the body
/// is told through its token and has a moment to end by itself; what it then says is taken.
pub(crate) async fn drive<F: Future<Output: Send> + Unpin + Send>(
    body: &mut F,
    cx: &Cx,
    timeouts: &Timeouts,
    until: &mut Option<Instant>,
    steps: &mut Steps<'_>,
) -> Ended<F::Output> {
    let first = first_poll(body).await;
    if let Poll::Ready(done) = first {
        cx.pulse().tell_held(steps);
        return Ended::Done(done);
    }
    // What was noted so far reaches observers before the long wait begins.
    cx.pulse().release(steps);
    drive_on(body, cx, timeouts, until).await
}

// Boxed, like every wait here: a call that never waits does not carry the room for timers with it.
fn drive_on<'a, F: Future<Output: Send> + Unpin + Send>(
    body: &'a mut F,
    cx: &'a Cx,
    timeouts: &'a Timeouts,
    until: &'a mut Option<Instant>,
) -> BoxFuture<'a, Ended<F::Output>> {
    let started = Instant::now();
    let until = *until.get_or_insert_with(|| later(started, timeouts.total));
    let next_deadline = move || cx.pulse().next_deadline(timeouts, started, until);
    // Polled a moment ago, on the same waker: it has nothing new to say before that is woken.
    let mut polled = true;
    Box::pin(async move {
        loop {
            let (next, late) = next_deadline();
            let on = std::future::poll_fn(|task| {
                if std::mem::take(&mut polled) { Poll::Pending } else { Pin::new(&mut *body).poll(task) }
            });
            tokio::select! {
                biased;
                done = on => return Ended::Done(done),
                () = cx.stopped() => return stop(body, cx, Ended::Cancelled).await,
                () = sleep_until(next) => {
                    // Progress may have moved the deadline while we slept.
                    if next_deadline().0 <= Instant::now() {
                        return stop(body, cx, Ended::Late(late)).await;
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

/// Runs somebody else's code with panics caught, within a limit, until cancelled.
pub(crate) async fn guarded<T: Send>(
    work: BoxFuture<'_, T>,
    limit: Duration,
    token: &CancellationToken,
    steps: &mut Steps<'_>,
) -> Guarded<T> {
    let mut work = Contained::new(work);
    let done = match first_poll(&mut work).await {
        Poll::Ready(done) => done,
        Poll::Pending => {
            steps.flush();
            match tokio::time::timeout(limit, until_cancelled(work, token)).boxed().await {
                Ok(Some(done)) => done,
                Ok(None) => return Guarded::Cancelled,
                Err(_) => return Guarded::Late,
            }
        }
    };
    match done {
        Ok(value) => Guarded::Done(value),
        Err(panic) => Guarded::Panicked(panic),
    }
}

/// Waits without a limit, panics caught. `None` when the token was cancelled first.
pub(crate) async fn cancellable<T: Send>(
    work: BoxFuture<'_, T>,
    token: &CancellationToken,
) -> Option<Result<T, String>> {
    let mut work = Contained::new(work);
    match first_poll(&mut work).await {
        Poll::Ready(done) => Some(done),
        Poll::Pending => until_cancelled(work, token).await,
    }
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

/// Signs of life of a running body.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    // Made when first felt: most quick calls never get that far.
    heart: OnceLock<Box<Heart>>,
}

#[derive(Debug, Default)]
struct Heart {
    // Set when somebody may hear of progress at once.
    beacon: OnceLock<Beacon>,
    life: Mutex<Life>,
    // Made when first asked for: most bodies ask nobody.
    glass: OnceLock<Hourglass>,
}

#[derive(Debug, Default)]
struct Life {
    beat: Option<Instant>,
    // Progress of the first moment waits here until the call's own steps are told: it never overtakes them.
    held: Vec<Progress>,
}

impl Pulse {
    pub(crate) fn beat(&self, progress: Progress) {
        let heart = self.heart();
        let mut life = heart.life();
        life.beat = Some(Instant::now());
        match heart.beacon.get() {
            Some(beacon) => {
                drop(life);
                beacon.progress(progress);
            }
            None => life.held.push(progress),
        }
    }

    pub(crate) fn connected(&self) {
        self.heart().life().beat = Some(Instant::now());
    }

    /// The time its deadlines go by.
    pub(crate) fn hourglass(&self) -> &Hourglass {
        self.heart().glass.get_or_init(Hourglass::default)
    }

    /// Tells what was held back so far, after the call's own steps.
    fn tell_held(&self, steps: &mut Steps<'_>) {
        if self.heart.get().is_some_and(|heart| !heart.life().held.is_empty()) {
            self.release(steps);
        }
    }

    /// From here on progress is told as it comes.
    fn release(&self, steps: &mut Steps<'_>) {
        steps.flush();
        let heart = self.heart();
        let mut life = heart.life();
        let beacon = heart.beacon.get_or_init(|| steps.beacon());
        life.held.drain(..).for_each(|progress| beacon.progress(progress));
    }

    fn heart(&self) -> &Heart {
        self.heart.get_or_init(Box::default)
    }

    fn next_deadline(&self, timeouts: &Timeouts, started: Instant, until: Instant) -> (Instant, Late) {
        let heart = self.heart();
        let glass = heart.glass.get();
        let until = later(until, glass.map_or(Duration::ZERO, Hourglass::stood));
        // To be asked something is a sign of life.
        let beat = heart.life().beat.max(glass.and_then(Hourglass::ran_on));
        let mut next = (until, Late::Total(timeouts.total));
        let mut sooner = |at: Instant, late: Late| {
            if at < next.0 {
                next = (at, late);
            }
        };
        if let Some(idle) = timeouts.idle {
            sooner(later(beat.unwrap_or(started), idle), Late::Idle(idle));
        }
        if let (Some(connect), None) = (timeouts.connect, beat) {
            sooner(later(started, connect), Late::Connect(connect));
        }
        next
    }
}

impl Heart {
    fn life(&self) -> std::sync::MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connect(limit) => write!(f, "it did not connect within {limit:?}"),
            Self::Idle(limit) => write!(f, "it made no progress for {limit:?}"),
            Self::Total(limit) => write!(f, "it did not finish within {limit:?}"),
        }
    }
}
