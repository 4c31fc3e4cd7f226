//! The body itself: tried, and tried again where that is worth it; on a task of its own where it may block.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

use super::{
    super::{Awaited, Base, Ran},
    Guards,
    output::is_long,
};
use crate::{
    event::What,
    guard::{Clock, Contained, Ended, Health, Place, cancellable, drive, later},
    outcome::{Failure, FailureKind, Output},
};

/// A body with everything it runs on.
pub(super) struct Body<'a> {
    pub(super) base: &'a mut Base,
    pub(super) guards: &'a Guards,
}

impl Body<'_> {
    /// Runs it to its end, in the call's place. Leaves the place, unless the body still runs and keeps it. What came of
    /// it is left in the call's box; says whether that speaks against the other side.
    ///
    /// `sent` is when it was sent off, where it is on its way already.
    pub(super) async fn run(mut self, sent: Option<Instant>) -> Health {
        let total = self.base.invocation().tool.spec.timeouts.total;
        let mut clock = Clock { sent, until: sent.map(|sent| later(sent, total)) };
        if sent.is_none() {
            self.base.steps().note_begins();
        }
        let mut health = self.attempt(&mut clock).await;
        if self.retryable().is_some() && self.base.invocation().tool.spec.retry.attempts > 1 {
            health = self.retry(health, clock).await;
        }
        self.base.leave();
        health
    }

    /// Why it may be tried again.
    fn retryable(&self) -> Option<&Failure> {
        match &self.base.ran {
            Some(Ok(Err(failure))) if failure.kind == FailureKind::Retryable => Some(failure),
            _ => None,
        }
    }

    /// Tries again for as long as it is worth it.
    #[cold]
    fn retry(&mut self, first: Health, clock: Clock) -> BoxFuture<'_, Health> {
        self.tried_again(first, clock).boxed()
    }

    async fn tried_again(&mut self, first: Health, mut clock: Clock) -> Health {
        let mut health = first;
        while let Some(failure) = self.retryable() {
            let (cx, spec) = (self.base.cx(), &self.base.invocation().tool.spec);
            let Some(wait) = spec.retry.wait_after(cx.attempt(), failure.retry_after) else {
                return health;
            };
            // A body that still holds its place cannot be started a second time beside itself.
            if self.base.place.is_none() {
                return health;
            }
            let deadline = *clock.until.get_or_insert_with(|| later(Instant::now(), spec.timeouts.total));
            if later(Instant::now(), wait) >= deadline {
                return health;
            }
            if cancellable(tokio::time::sleep(wait).boxed(), cx.token()).await.is_none() {
                return health;
            }
            let attempt = cx.next_attempt();
            self.base.steps().note(|| What::Started { attempt });
            health = self.attempt(&mut clock).await;
        }
        health
    }

    /// One try: on the caller's own task, or on one of its own. There the place goes along, and comes back where the body
    /// ended.
    async fn attempt(&mut self, clock: &mut Clock) -> Health {
        let is_apart = clock.sent.is_some() || self.send_apart();
        let Base { errand, trail, place, ran, by, .. } = &mut *self.base;
        let mut steps = trail.about(errand, by.as_ref());
        let registered = &errand.invocation().tool;
        let work = if is_apart {
            Work::Apart(errand.awaited())
        } else {
            Work::Here(Contained::new(registered.tool.run_here(errand)))
        };
        *ran = None;
        let running = Running { work, ran, place };
        let timeouts = &registered.spec.timeouts;
        let ended = drive(running, errand.cx(), timeouts, clock, &mut steps).await;
        clock.sent = None;
        match &self.base.ran {
            Some(Ok(Ok(_))) => Health::Well,
            _ => self.failed(ended),
        }
    }

    /// Sends it to a task of its own, where it is to have one; false otherwise.
    fn send_apart(&mut self) -> bool {
        match &self.guards.spawner {
            Some(spawner) if !self.base.invocation().tool.spec.inline => {
                spawner.spawn(errand_of(self.base));
                true
            }
            _ => false,
        }
    }

    /// The body for somebody else to drive.
    pub(super) fn send_off(base: &mut Base) -> BoxFuture<'static, ()> {
        base.steps().note_begins();
        errand_of(base)
    }

    /// From here on what is noted, and what the body tells of itself, reaches observers as it comes.
    pub(super) fn release(base: &mut Base) {
        let Base { errand, trail, by, .. } = base;
        errand.cx().pulse().release(&mut trail.about(errand, by.as_ref()));
    }

    /// Takes the answer of one that was sent off, where it is a good one and not long; false otherwise.
    pub(super) fn answered_well(base: &mut Base) -> bool {
        let Some((output, place)) = base.errand.answered(|output| !is_long(output)) else { return false };
        let Base { errand, trail, by, .. } = base;
        errand.cx().pulse().tell_held(&mut trail.about(errand, by.as_ref()));
        (base.ran, base.place) = (Some(Ok(Ok(output))), Some(place));
        base.leave();
        true
    }

    /// What is said of a body that did not end well.
    #[cold]
    fn failed(&mut self, ended: Ended<()>) -> Health {
        // A stopped write may or may not have happened; only a stopped read is safe to repeat.
        let read_only = self.base.invocation().effects.read_only;
        let stopped = |message: String| {
            if read_only {
                return Failure::retryable(message);
            }
            Failure::unknown(message)
                .with_hint("Find out whether it took effect before you do anything like it again.")
        };
        let (failure, health) = match (self.base.ran.take(), ended) {
            (Some(Ok(Ok(output))), _) => {
                self.base.ran = Some(Ok(Ok(output)));
                return Health::Well;
            }
            (Some(Ok(Err(failure))), _) => {
                let health = match failure.kind {
                    FailureKind::Fatal => Health::Well,
                    // It ended because it was told to: nobody's failure.
                    _ if self.base.cx().is_stopped() => Health::Untold,
                    _ => Health::Sick,
                };
                (failure, health)
            }
            (Some(Err(panic)), _) => {
                let failure = Failure::fatal("The tool failed unexpectedly and was stopped.")
                    .with_hint("The same call will fail again; try another way.")
                    .caused_by(format!("panic: {panic}"));
                (failure, Health::Sick)
            }
            (None, Ended::Late(late)) => (stopped(format!("The tool was stopped: {late}.")), Health::Sick),
            // Where it says that it is done and there is nothing, its task is gone: its runtime is shutting down.
            (None, Ended::Cancelled | Ended::Done(())) => {
                (stopped("The call was interrupted after it had started.".into()), Health::Untold)
            }
        };
        self.base.ran = Some(Ok(Err(failure)));
        health
    }
}

/// The body, with its place, for a task of its own.
#[inline(never)]
fn errand_of(base: &mut Base) -> BoxFuture<'static, ()> {
    let place = base.place.take().unwrap_or(Place::Nowhere);
    let sent = base.errand.send(place);
    base.errand.tool().run_apart(sent)
}

/// A body that runs, and where it leaves what comes of it: it is moved no more than it has to be.
struct Running<'a> {
    work: Work<'a>,
    /// Nothing, once it has ended, where it is gone.
    ran: &'a mut Option<Ran>,
    place: &'a mut Option<Place>,
}

enum Work<'a> {
    Here(Contained<'a, Result<Output, Failure>>),
    /// `None` where nobody knows of it any more: it is not begun a second time.
    Apart(Option<Awaited<'a>>),
}

impl Future for Running<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let Self { work, ran, place } = &mut *self;
        match work {
            Work::Here(body) => body.poll_into(task, ran),
            Work::Apart(None) => Poll::Ready(()),
            Work::Apart(Some(body)) => Pin::new(body).poll(task).map(|ended| {
                if let Some((answer, back)) = ended {
                    (**ran, **place) = (Some(answer), Some(back));
                }
            }),
        }
    }
}
