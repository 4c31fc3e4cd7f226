//! The body itself: tried, and tried again where that is worth it; on a task of its own where it may block.

use futures_util::FutureExt;
use tokio::{sync::oneshot, time::Instant};

use super::{super::Base, Guards};
use crate::{
    event::What,
    guard::{Contained, Ended, Health, Place, Slot, Spawner, cancellable, drive, later},
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
    pub(super) async fn run(mut self) -> Ending {
        let mut until = None;
        let mut steps = self.base.steps();
        steps.note_brief(|| What::Started { attempt: 1 });
        steps.note_brief(|| What::begins_or_ends(0.0));
        let mut ending = self.attempt(&mut until).await;
        if let Err(failure) = &ending.0
            && failure.kind == FailureKind::Retryable
            && self.base.invocation().tool.spec.retry.attempts > 1
        {
            ending = self.retry(ending, until).boxed().await;
        }
        self.base.leave();
        ending
    }

    /// Tries again for as long as it is worth it.
    async fn retry(&mut self, first: Ending, mut until: Option<Instant>) -> Ending {
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
            let deadline = *until.get_or_insert_with(|| later(Instant::now(), spec.timeouts.total));
            if later(Instant::now(), wait) >= deadline {
                return ending;
            }
            if cancellable(tokio::time::sleep(wait).boxed(), cx.token()).await.is_none() {
                return ending;
            }
            let attempt = cx.next_attempt();
            self.base.steps().note(|| What::Started { attempt });
            ending = self.attempt(&mut until).await;
        }
    }

    /// One try.
    async fn attempt(&mut self, until: &mut Option<Instant>) -> Ending {
        let apart = self.guards.spawner.as_ref().filter(|_| !self.base.invocation().tool.spec.inline);
        let ended = match apart {
            Some(spawner) => self.apart(&**spawner, until).await,
            None => self.here(until).await,
        };
        self.ending(ended)
    }

    /// On the caller's own task.
    async fn here(&mut self, until: &mut Option<Instant>) -> Ended<Ran> {
        let Base { errand, tool, trail, .. } = &mut *self.base;
        let mut steps = trail.about(errand.about(tool.as_ref()));
        let registered = &errand.invocation().tool;
        let mut body = Contained::new(registered.tool.run_here(errand));
        drive(&mut body, errand.cx(), &registered.spec.timeouts, until, &mut steps).await
    }

    /// On a task of its own. The place goes along, and comes back where the body ended.
    async fn apart(&mut self, spawner: &dyn Spawner, until: &mut Option<Instant>) -> Ended<Ran> {
        let place = self.base.place.take().unwrap_or(Place::Nowhere);
        let slot = self.base.scope().workspace.slot(place);
        let shared = self.base.errand.share();
        let Base { errand, tool, trail, place, .. } = &mut *self.base;
        let mut steps = trail.about(errand.about(tool.as_ref()));
        let registered = &errand.invocation().tool;
        let body = Contained::new(registered.tool.clone().run(shared));
        let mut remote = spawn(spawner, body, slot);
        match drive(&mut remote, errand.cx(), &registered.spec.timeouts, until, &mut steps).await {
            Ended::Done(Ok((result, slot))) => {
                *place = Some(slot.into_place());
                Ended::Done(result)
            }
            // The task is gone without an answer: its runtime is shutting down.
            Ended::Done(Err(_)) | Ended::Cancelled => Ended::Cancelled,
            Ended::Late(late) => Ended::Late(late),
        }
    }

    fn ending(&self, ended: Ended<Ran>) -> Ending {
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

/// What a body answered, or what its panic said.
type Ran = Result<Result<Output, Failure>, String>;

/// Runs a body on a task of its own, for as long as somebody waits for its answer. The place in the workspace goes
/// along and is free when the body ends, not when somebody stops waiting for it.
fn spawn(
    spawner: &dyn Spawner,
    body: Contained<'static, Result<Output, Failure>>,
    slot: Slot,
) -> oneshot::Receiver<(Ran, Slot)> {
    let (mut answer, remote) = oneshot::channel();
    spawner.spawn(Box::pin(async move {
        let result = tokio::select! {
            biased;
            () = answer.closed() => None,
            result = body => Some(result),
        };
        if let Some(result) = result {
            let _ = answer.send((result, slot));
        }
    }));
    remote
}
