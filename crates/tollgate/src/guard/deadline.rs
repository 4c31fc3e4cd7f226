//! Drives a body to its end, its deadline or its cancellation, whichever comes first.

use std::{
    future::Future,
    pin::Pin,
    sync::{Mutex, OnceLock, PoisonError},
    task::Poll,
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{contained::Contained, first::at_first, hourglass::Hourglass};
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

/// Drives `body` until it ends, a deadline passes or the call is cancelled.
///
/// `until` is when the whole call, retries included, must be over. On a deadline or a cancellation the body
/// is told through its token and has a moment to end by itself; what it then says is taken.
pub(crate) fn drive<'a, F: Future<Output: Send> + Unpin + Send>(
    body: &'a mut F,
    cx: &'a Cx,
    timeouts: &'a Timeouts,
    until: &'a mut Option<Instant>,
    steps: &'a mut Steps<'_>,
) -> impl Future<Output = Ended<F::Output>> + Send {
    at_first(move |task| match Pin::new(&mut *body).poll(task) {
        Poll::Ready(done) => {
            cx.pulse().tell_held(steps);
            Ok(Ended::Done(done))
        }
        Poll::Pending => {
            // What was noted so far reaches observers before the long wait begins.
            cx.pulse().release(steps);
            Err(drive_on(body, cx, timeouts, until))
        }
    })
}

// Boxed, like every wait here: a call that never waits does not carry the room for timers with it, and their code lies
// apart from its own.
#[inline(never)]
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
        if let Some(heart) = self.heart.get() {
            self.tell_of(heart, steps);
        }
    }

    #[cold]
    fn tell_of(&self, heart: &Heart, steps: &mut Steps<'_>) {
        let held = !heart.life().held.is_empty();
        if held {
            self.release(steps);
        }
    }

    /// From here on progress is told as it comes.
    #[inline(never)]
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
