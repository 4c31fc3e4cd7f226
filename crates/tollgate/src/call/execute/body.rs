//! The body itself: tried, and tried again where that is worth it; on a task of its own where it may block.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::{sync::oneshot, time::Instant};

use super::{super::validate::Invocation, Guards};
use crate::{
    event::{Trail, What},
    guard::{Contained, Ended, Health, Slot, Spawner, cancellable, drive, later},
    outcome::{Failure, FailureKind, Output},
    tool::Cx,
};

/// A body with everything it runs on.
pub(super) struct Body<'a> {
    pub(super) invocation: &'a Arc<Invocation>,
    pub(super) cx: &'a Arc<Cx>,
    pub(super) guards: &'a Guards,
}

/// How a body ended, and whether that speaks against the other side.
pub(super) struct Ending(pub(super) Result<Output, Failure>, pub(super) Health);

impl Body<'_> {
    /// Runs it to its end.
    pub(super) async fn run(&self, slot: Slot<'_>, trail: &mut Trail) -> Ending {
        let mut until = None;
        trail.note_brief(|| What::Started { attempt: 1 });
        trail.note_brief(|| What::begins_or_ends(0.0));
        let (ending, kept) = self.attempt(slot, &mut until, trail).await;
        match &ending.0 {
            Err(failure)
                if failure.kind == FailureKind::Retryable && self.invocation.tool.spec.retry.attempts > 1 =>
            {
                self.retry(ending, (kept, until), trail).boxed().await
            }
            _ => ending,
        }
    }

    /// Tries again for as long as it is worth it.
    async fn retry(
        &self,
        first: Ending,
        (mut kept, mut until): (Option<Slot<'_>>, Option<Instant>),
        trail: &mut Trail,
    ) -> Ending {
        let spec = &self.invocation.tool.spec;
        let cx = self.cx;
        let mut ending = first;
        loop {
            let Err(failure) = &ending.0 else { return ending };
            if failure.kind != FailureKind::Retryable {
                return ending;
            }
            let Some(wait) = spec.retry.wait_after(cx.attempt(), failure.retry_after) else {
                return ending;
            };
            // A body that still holds its place cannot be started a second time beside itself.
            let Some(slot) = kept else { return ending };
            let deadline = *until.get_or_insert_with(|| later(Instant::now(), spec.timeouts.total));
            if later(Instant::now(), wait) >= deadline {
                return ending;
            }
            if cancellable(tokio::time::sleep(wait).boxed(), cx.token()).await.is_none() {
                return ending;
            }
            let attempt = cx.next_attempt();
            trail.note(|| What::Started { attempt });
            (ending, kept) = self.attempt(slot, &mut until, trail).await;
        }
    }

    /// One try. Gives the place back unless the body still runs and keeps it.
    async fn attempt<'s>(
        &self,
        slot: Slot<'s>,
        until: &mut Option<Instant>,
        trail: &mut Trail,
    ) -> (Ending, Option<Slot<'s>>) {
        let tool = &self.invocation.tool;
        let cx = self.cx;
        let (ended, slot) = match &self.guards.spawner {
            Some(spawner) if !tool.spec.inline => {
                let body = tool.tool.clone().run(cx.clone(), self.invocation.clone());
                let mut remote = spawn(&**spawner, Contained::new(body), slot.owned());
                match drive(&mut remote, cx, &tool.spec.timeouts, until, trail).await {
                    Ended::Done(Ok((result, slot))) => (Ended::Done(result), Some(slot)),
                    // The task is gone without an answer: its runtime is shutting down.
                    Ended::Done(Err(_)) | Ended::Cancelled => (Ended::Cancelled, None),
                    Ended::Late(late) => (Ended::Late(late), None),
                }
            }
            _ => {
                let mut body = Contained::new(tool.tool.run_here(cx, self.invocation));
                (drive(&mut body, cx, &tool.spec.timeouts, until, trail).await, Some(slot))
            }
        };
        (self.ending(ended), slot)
    }

    fn ending(&self, ended: Ended<Ran>) -> Ending {
        // A stopped write may or may not have happened; only a stopped read is safe to repeat.
        let stopped = |message: String| {
            if self.invocation.effects.read_only {
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
                    _ if self.cx.is_stopped() => Health::Untold,
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
    slot: Slot<'static>,
) -> oneshot::Receiver<(Ran, Slot<'static>)> {
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
