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

/// How a body ended, and whether that speaks against the other side.
pub(super) struct Ending(pub(super) Result<Output, Failure>, pub(super) Health);

impl Body<'_> {
    /// Runs it to its end, in the call's place. Leaves the place, unless the body still runs and keeps it.
    ///
    /// `sent` is when it was sent off, where it is on its way already.
    pub(super) async fn run(mut self, sent: Option<Instant>) -> Ending {
        let total = self.base.invocation().tool.spec.timeouts.total;
        let mut clock = Clock { sent, until: sent.map(|sent| later(sent, total)) };
        if sent.is_none() {
            self.base.steps().note_begins();
        }
        let mut ending = self.attempt(&mut clock).await;
        if let Err(failure) = &ending.0
            && failure.kind == FailureKind::Retryable
            && self.base.invocation().tool.spec.retry.attempts > 1
        {
            ending = self.retry(ending, clock).await;
        }
        self.base.leave();
        ending
    }

    /// Tries again for as long as it is worth it.
    #[cold]
    fn retry(&mut self, first: Ending, clock: Clock) -> BoxFuture<'_, Ending> {
        self.tried_again(first, clock).boxed()
    }

    async fn tried_again(&mut self, first: Ending, mut clock: Clock) -> Ending {
        let mut ending = first;
        loop {
            let Err(failure) = &ending.0 else { return ending };
            if failure.kind != FailureKind::Retryable {
                return ending;
            }
            let (cx, spec) = (self.base.cx(), &self.base.invocation().tool.spec);
            let Some(wait) = spec.retry.wait_after(cx.attempt(), failure.retry_after) else {
                return ending;
            };
            // A body that still holds its place cannot be started a second time beside itself.
            if self.base.place.is_none() {
                return ending;
            }
            let deadline = *clock.until.get_or_insert_with(|| later(Instant::now(), spec.timeouts.total));
            if later(Instant::now(), wait) >= deadline {
                return ending;
            }
            if cancellable(tokio::time::sleep(wait).boxed(), cx.token()).await.is_none() {
                return ending;
            }
            let attempt = cx.next_attempt();
            self.base.steps().note(|| What::Started { attempt });
            ending = self.attempt(&mut clock).await;
        }
    }

    /// One try: on the caller's own task, or on one of its own. There the place goes along, and comes back where the body
    /// ended.
    async fn attempt(&mut self, clock: &mut Clock) -> Ending {
        let is_apart = clock.sent.is_some() || self.send_apart();
        let Base { errand, trail, place, .. } = &mut *self.base;
        let mut steps = trail.about(errand);
        let registered = &errand.invocation().tool;
        let mut running = if is_apart {
            Running::Apart(errand.awaited())
        } else {
            Running::Here(Contained::new(registered.tool.run_here(errand)))
        };
        let ended = match drive(&mut running, errand.cx(), &registered.spec.timeouts, clock, &mut steps).await
        {
            Ended::Done(Some((result, back))) => {
                if back.is_some() {
                    *place = back;
                }
                Ended::Done(result)
            }
            // The task is gone without an answer: its runtime is shutting down.
            Ended::Done(None) | Ended::Cancelled => Ended::Cancelled,
            Ended::Late(late) => Ended::Late(late),
        };
        drop(running);
        clock.sent = None;
        self.ending(ended)
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
        let Base { errand, trail, .. } = base;
        errand.cx().pulse().release(&mut trail.about(errand));
    }

    /// The end of one that was sent off, where it has answered well and its output is not long.
    pub(super) fn answered_well(base: &mut Base) -> Option<Ending> {
        let (output, place) = base.errand.answered(|output| !is_long(output))?;
        let Base { errand, trail, .. } = base;
        errand.cx().pulse().tell_held(&mut trail.about(errand));
        base.place = Some(place);
        base.leave();
        Some(Ending(Ok(output), Health::Well))
    }

    fn ending(&self, ended: Ended<Ran>) -> Ending {
        match ended {
            Ended::Done(Ok(Ok(output))) => Ending(Ok(output), Health::Well),
            failed => self.failed(failed),
        }
    }

    #[cold]
    fn failed(&self, ended: Ended<Ran>) -> Ending {
        // A stopped write may or may not have happened; only a stopped read is safe to repeat.
        let stopped = |message: String| {
            if self.base.invocation().effects.read_only {
                return Failure::retryable(message);
            }
            Failure::unknown(message)
                .with_hint("Find out whether it took effect before you do anything like it again.")
        };
        match ended {
            Ended::Done(Ok(Ok(output))) => Ending(Ok(output), Health::Well),
            Ended::Done(Ok(Err(failure))) => {
                let health = match failure.kind {
                    FailureKind::Fatal => Health::Well,
                    // It ended because it was told to: nobody's failure.
                    _ if self.base.cx().is_stopped() => Health::Untold,
                    _ => Health::Sick,
                };
                Ending(Err(failure), health)
            }
            Ended::Done(Err(panic)) => {
                let failure = Failure::fatal("The tool failed unexpectedly and was stopped.")
                    .with_hint("The same call will fail again; try another way.")
                    .caused_by(format!("panic: {panic}"));
                Ending(Err(failure), Health::Sick)
            }
            Ended::Late(late) => Ending(Err(stopped(format!("The tool was stopped: {late}."))), Health::Sick),
            Ended::Cancelled => {
                Ending(Err(stopped("The call was interrupted after it had started.".into())), Health::Untold)
            }
        }
    }
}

/// The body, with its place, for a task of its own.
#[inline(never)]
fn errand_of(base: &mut Base) -> BoxFuture<'static, ()> {
    let place = base.place.take().unwrap_or(Place::Nowhere);
    let sent = base.errand.send(place);
    base.errand.tool().run_apart(sent)
}

/// A body that runs.
enum Running<'a> {
    Here(Contained<'a, Result<Output, Failure>>),
    /// `None` where nobody knows of it any more: it is not begun a second time.
    Apart(Option<Awaited<'a>>),
}

impl Future for Running<'_> {
    /// What came of it, and its place where it had that with it; `None` where it is gone.
    type Output = Option<(Ran, Option<Place>)>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Here(body) => Pin::new(body).poll(task).map(|ran| Some((ran, None))),
            Self::Apart(None) => Poll::Ready(None),
            Self::Apart(Some(body)) => {
                Pin::new(body).poll(task).map(|ended| ended.map(|(ran, place)| (ran, Some(place))))
            }
        }
    }
}
