//! Phase 5: the body has run, at most once, behind every guard; or the call was stopped just before.

use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures_util::{
    FutureExt,
    future::{AbortHandle, Abortable, BoxFuture},
};
use tokio::{sync::oneshot, time::Instant};

use super::{Call, Refused, permit::Permitted, validate::Invocation};
use crate::{
    event::{Trail, What},
    guard::{
        Breakers, Claim, Ended, Fence, Fingerprint, Health, Ledger, Pulse, Reservation, Slot, Spawner, Start,
        cancellable, drive, later, off_thread, panic_text,
    },
    outcome::{
        Answer, Failure, FailureKind, Item, Offloaded, Outcome, Output, Phase, Redactor, Refusal, RefusalCode,
    },
    tool::{Cx, IdempotencyKey},
};

/// A call whose body has come to an end, or whose earlier answer was found.
pub struct Executed {
    pub(super) ran: Ran,
}

/// What is known after the body.
pub(super) struct Ran {
    pub(super) invocation: Box<Invocation>,
    pub(super) outcome: Outcome,
    pub(super) attempts: u32,
    pub(super) replayed: bool,
    /// Where the whole of an answer that was found is, if it was put aside then.
    pub(super) offloaded: Option<Box<Offloaded>>,
    pub(super) claim: Option<OpenClaim>,
    /// Who allowed it.
    pub(super) by: Arc<str>,
}

/// What stands between a permit and a body.
#[derive(Clone)]
pub struct Guards {
    /// Breakers, shared with admission.
    pub breakers: Arc<Breakers>,
    /// Where starts are recorded before anything takes effect.
    pub ledger: Arc<dyn Ledger>,
    /// Runs bodies on tasks of their own, so that one that blocks cannot hold up its own deadline. Without
    /// one, bodies run on the caller's task.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// Takes secrets out of what bodies answer, before anyone sees it.
    pub redactor: Option<Arc<Redactor>>,
}

/// A claim of the ledger that is not settled yet. Dropped on the way, its effect is unknown.
pub(super) struct OpenClaim {
    ledger: Arc<dyn Ledger>,
    fence: Option<Fence>,
}

impl OpenClaim {
    /// The fence, for the terminal record.
    pub(super) fn close(&mut self) -> Option<Fence> {
        self.fence.take()
    }
}

impl Drop for OpenClaim {
    fn drop(&mut self) {
        if let Some(fence) = self.fence.take() {
            self.ledger.abandon(fence);
        }
    }
}

/// What came of the steps before the body.
enum Ready {
    Start(Slot, Option<OpenClaim>, Option<IdempotencyKey>),
    /// It ran before: this was, or stands for, its answer.
    Answered(Outcome, Option<Box<Offloaded>>),
}

impl Call<Permitted> {
    /// Reserves budget and a place, claims the key, then runs the body under deadlines, with retries, panics
    /// caught.
    pub async fn execute(self, guards: &Guards) -> Result<Call<Executed>, Refused> {
        let Call { mut base, state: Permitted { invocation, permit, probe } } = self;
        let scope = base.scope.clone();
        let ready = match scope.run.purse().reserve(invocation.tool.spec.name()).await {
            Ok(reservation) => ready(&mut base, &invocation, guards, reservation).await,
            Err(refusal) => Err(refusal),
        };
        let (slot, claim, key) = match ready {
            Ok(Ready::Start(slot, claim, key)) => (slot, claim, key),
            Ok(Ready::Answered(outcome, offloaded)) => {
                let by = permit.by;
                let ran =
                    Ran { invocation, outcome, attempts: 0, replayed: true, offloaded, claim: None, by };
                return Ok(Call { base, state: Executed { ran } });
            }
            Err(refusal) => return Err(base.refuse(invocation, Phase::Execute, refusal)),
        };
        // The permit is used up here: what follows is the one run it stands for.
        let by = permit.by;
        let cx = Arc::new(Cx::new(scope, base.id.clone(), key, base.lane.body.clone(), Pulse::default()));
        let body = Body { invocation: &invocation, cx: &cx, guards };
        let began = base.scope.run.purse().is_limited().then(Instant::now);
        let Ending(result, health) = body.run(slot, &mut base.trail).await;
        if let Some(began) = began {
            base.scope.run.purse().add_time(began.elapsed());
        }
        guards.breakers.record(&invocation.tool.spec, &base.scope, health);
        drop(probe);
        let mut outcome = checked_output(&invocation, result);
        if let Some(redactor) = &guards.redactor {
            outcome = redacted(outcome, redactor, guards, &invocation).await;
        }
        if let Outcome::Ok(_) = outcome {
            base.trail.note_brief(|| What::begins_or_ends(1.0));
        }
        base.trail.note(|| What::Executed {
            status: outcome.status(),
            chain: chain(&outcome, guards.redactor.as_deref()).into(),
        });
        let ran =
            Ran { outcome, attempts: cx.attempt(), replayed: false, offloaded: None, claim, by, invocation };
        Ok(Call { base, state: Executed { ran } })
    }
}

/// Gets everything ready for the body. A read without a key that finds a place at once waits for nothing.
async fn ready(
    base: &mut super::Base,
    invocation: &Invocation,
    guards: &Guards,
    reservation: Reservation<'_>,
) -> Result<Ready, Refusal> {
    if base.lane.until_started(&base.scope).is_cancelled() {
        return Err(cancelled());
    }
    if let Some(refusal) = missing_key(invocation, base) {
        return Err(refusal);
    }
    let workspace = &base.scope.workspace;
    let now = if base.needs_claim(invocation) {
        None
    } else if invocation.tool.spec.conducts {
        Some(workspace.pass_by())
    } else {
        workspace.enter_now(invocation.effects.class())
    };
    let ready = match now {
        Some(slot) => Ready::Start(slot, None, None),
        None => wait_and_claim(base, invocation, guards).boxed().await?,
    };
    if let Ready::Start(..) = ready {
        reservation.keep();
    }
    Ok(ready)
}

/// The refusal of a call without the key its tool insists on.
pub(super) fn missing_key(invocation: &Invocation, base: &super::Base) -> Option<Refusal> {
    let missing = invocation.tool.spec.requires_idempotency_key && base.key.is_none();
    missing.then(|| {
        let label = &invocation.tool.label;
        let reason = format!("`{label}` runs only with an idempotency key, and this call brings none.");
        Refusal::new(RefusalCode::MissingIdempotencyKey, reason)
            .with_hint("Give the call an `idempotency_key`.")
    })
}

/// Waits for a place and claims the key. Nothing has happened yet: any refusal here is a clean one.
async fn wait_and_claim(
    base: &mut super::Base,
    invocation: &Invocation,
    guards: &Guards,
) -> Result<Ready, Refusal> {
    base.trail.flush();
    let token = base.lane.until_started(&base.scope);
    let key = match &base.key {
        Some(key) => Some(key.clone()),
        None if invocation.effects.read_only => None,
        None => Some(derived_key(base)),
    };
    let slot = if invocation.tool.spec.conducts {
        base.scope.workspace.pass_by()
    } else {
        let class = invocation.effects.class();
        match cancellable(base.scope.workspace.enter(class).boxed(), token).await {
            Some(Ok(slot)) => slot,
            _ => return Err(cancelled()),
        }
    };
    let Some(key) = key else { return Ok(Ready::Start(slot, None, None)) };
    let start = Start {
        ticket: base.ticket,
        run: base.scope.run.id().clone(),
        caller: base.scope.caller.clone(),
        key: key.clone(),
        fingerprint: Fingerprint::of(&invocation.tool.spec, &invocation.args),
    };
    // Begun inside the future, so that a panic in the method itself is caught with it.
    match cancellable(async move { guards.ledger.start(start).await }.boxed(), token).await {
        Some(Ok(Ok(Claim::Granted(fence)))) => {
            let claim = OpenClaim { ledger: guards.ledger.clone(), fence: Some(fence) };
            Ok(Ready::Start(slot, Some(claim), Some(key)))
        }
        Some(Ok(Ok(Claim::Replay(settled)))) => {
            let Answer { outcome, offloaded, mut context, .. } = settled.into_answer();
            // Hooks are not shown the answer again; what they said of it then still holds.
            context.retain(|words| !base.context.contains(words));
            base.context.append(&mut context);
            Ok(Ready::Answered(outcome, offloaded))
        }
        Some(Ok(Ok(Claim::Unfinished))) => Ok(Ready::Answered(Outcome::Failed(unfinished()), None)),
        Some(Ok(Ok(Claim::Conflict))) => Err(Refusal::new(
            RefusalCode::IdempotencyConflict,
            format!("The idempotency key {key} was used before, for other arguments."),
        )
        .with_hint("Use a new key for a new intent; repeat the same arguments to get the same answer.")),
        Some(Ok(Err(fault))) => {
            base.trail.note(|| What::LedgerFault { message: fault.to_string().into() });
            Err(Refusal::new(
                RefusalCode::Internal,
                "The start of this call could not be recorded, so it did not run.",
            ))
        }
        Some(Err(panic)) => {
            base.trail.note(|| What::LedgerFault { message: panic.into() });
            Err(Refusal::new(RefusalCode::Internal, "The ledger failed, so the call did not run."))
        }
        None => Err(cancelled()),
    }
}

impl super::Base {
    /// True when the call takes effect at most once, and so is claimed before it starts.
    pub(super) fn needs_claim(&self, invocation: &Invocation) -> bool {
        self.key.is_some() || !invocation.effects.read_only
    }
}

/// A key for a call that brings none.
fn derived_key(base: &super::Base) -> IdempotencyKey {
    IdempotencyKey::of_call(base.scope.run.id(), base.scope.turn, base.position, &base.id)
}

struct Body<'a> {
    invocation: &'a Invocation,
    cx: &'a Arc<Cx>,
    guards: &'a Guards,
}

/// How a body ended, and whether that speaks against the other side.
struct Ending(Result<Output, Failure>, Health);

impl Body<'_> {
    async fn run(&self, slot: Slot, trail: &mut Trail) -> Ending {
        let mut until = None;
        trail.note_brief(|| What::Started { attempt: 1 });
        trail.note_brief(|| What::begins_or_ends(0.0));
        let (ending, kept) = self.attempt(slot, &mut until, trail).await;
        match &ending.0 {
            Err(failure)
                if failure.kind == FailureKind::Retryable && self.invocation.tool.spec.retry.attempts > 1 =>
            {
                self.retry(ending, kept, until, trail).boxed().await
            }
            _ => ending,
        }
    }

    /// Tries again for as long as it is worth it.
    async fn retry(
        &self,
        first: Ending,
        mut kept: Option<Slot>,
        mut until: Option<Instant>,
        trail: &mut Trail,
    ) -> Ending {
        let spec = &self.invocation.tool.spec;
        let mut ending = first;
        loop {
            let Err(failure) = &ending.0 else { return ending };
            if failure.kind != FailureKind::Retryable {
                return ending;
            }
            let Some(wait) = spec.retry.wait_after(self.cx.attempt(), failure.retry_after) else {
                return ending;
            };
            // A body that still holds its place cannot be started a second time beside itself.
            let Some(slot) = kept else { return ending };
            let deadline = *until.get_or_insert_with(|| later(Instant::now(), spec.timeouts.total));
            if later(Instant::now(), wait) >= deadline {
                return ending;
            }
            if cancellable(tokio::time::sleep(wait).boxed(), self.cx.token()).await.is_none() {
                return ending;
            }
            let attempt = self.cx.next_attempt();
            trail.note(|| What::Started { attempt });
            (ending, kept) = self.attempt(slot, &mut until, trail).await;
        }
    }

    /// One try. Gives the place back unless the body still runs and keeps it.
    async fn attempt(
        &self,
        slot: Slot,
        until: &mut Option<Instant>,
        trail: &mut Trail,
    ) -> (Ending, Option<Slot>) {
        let tool = &self.invocation.tool;
        let (ended, slot) = match &self.guards.spawner {
            Some(spawner) if !tool.spec.inline => {
                let body = tool.tool.clone().run(self.cx.clone(), self.invocation.typed.clone());
                let (mut remote, _stop) = spawn(&**spawner, AssertUnwindSafe(body).catch_unwind(), slot);
                match drive(&mut remote, self.cx, &tool.spec.timeouts, until, trail).await {
                    Ended::Done(Ok((result, slot))) => (Ended::Done(result), Some(slot)),
                    // The task is gone without an answer: its runtime is shutting down.
                    Ended::Done(Err(_)) | Ended::Cancelled => (Ended::Cancelled, None),
                    Ended::Late(late) => (Ended::Late(late), None),
                }
            }
            _ => {
                let body = tool.tool.run_here(self.cx, &self.invocation.typed);
                let mut body = pin!(AssertUnwindSafe(body).catch_unwind());
                (drive(&mut body, self.cx, &tool.spec.timeouts, until, trail).await, Some(slot))
            }
        };
        (self.ending(ended), slot)
    }

    fn ending(&self, ended: Ended<Result<Result<Output, Failure>, Box<dyn std::any::Any + Send>>>) -> Ending {
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
                let health = if failure.kind == FailureKind::Fatal { Health::Well } else { Health::Sick };
                Ending(Err(failure), health)
            }
            Ended::Done(Err(panic)) => {
                let failure = Failure::fatal("The tool failed unexpectedly and was stopped.")
                    .with_hint("The same call will fail again; try another way.")
                    .caused_by(format!("panic: {}", panic_text(&*panic)));
                Ending(Err(failure), Health::Sick)
            }
            Ended::Late(late) => Ending(Err(stopped(format!("The tool was stopped: {late}."))), Health::Sick),
            Ended::Cancelled => {
                Ending(Err(stopped("The call was interrupted after it had started.".into())), Health::Untold)
            }
        }
    }
}

type Panicking = Result<Result<Output, Failure>, Box<dyn std::any::Any + Send>>;

/// Runs a body on a task of its own. The place in the workspace goes along and is free when the body ends, not
/// when somebody stops waiting for it.
fn spawn(
    spawner: &dyn Spawner,
    body: futures_util::future::CatchUnwind<AssertUnwindSafe<BoxFuture<'static, Result<Output, Failure>>>>,
    slot: Slot,
) -> (oneshot::Receiver<(Panicking, Slot)>, AbortOnDrop) {
    let (answer, remote) = oneshot::channel();
    let (handle, registration) = AbortHandle::new_pair();
    let body = Abortable::new(body, registration);
    spawner.spawn(Box::pin(async move {
        if let Ok(result) = body.await {
            let _ = answer.send((result, slot));
        }
    }));
    (remote, AbortOnDrop(handle))
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Takes secrets out. Of a long output on a thread that may take its time; one that is lost there is told as lost, and
/// never shown as it was.
async fn redacted(
    mut outcome: Outcome,
    redactor: &Arc<Redactor>,
    guards: &Guards,
    invocation: &Invocation,
) -> Outcome {
    let bytes = match &outcome {
        Outcome::Ok(output) => output.items.iter().map(text_len).sum(),
        _ => 0,
    };
    if bytes <= super::settle::BIG || guards.spawner.is_none() {
        redactor.outcome(&mut outcome);
        return outcome;
    }
    let redactor = redactor.clone();
    let work = move || {
        redactor.outcome(&mut outcome);
        outcome
    };
    off_thread(guards.spawner.as_deref(), work).boxed().await.unwrap_or_else(|| {
        let lost = "The tool ran, and its result was lost because the program was ending.";
        Outcome::Failed(if invocation.effects.read_only {
            Failure::retryable(lost)
        } else {
            Failure::unknown(lost)
        })
    })
}

fn text_len(item: &Item) -> usize {
    match item {
        Item::Text { text } => text.len(),
        Item::Json { .. } | Item::Image { .. } => 0,
    }
}

/// An output that breaks the tool's own schema does not reach the model as if it were right.
fn checked_output(invocation: &Invocation, result: Result<Output, Failure>) -> Outcome {
    let output = match result {
        Ok(output) => output,
        Err(failure) => return Outcome::Failed(failure),
    };
    let Some(schema) = &invocation.tool.output else { return Outcome::Ok(output) };
    let broken = match output.structured() {
        Some(value) if schema.accepts(value) => return Outcome::Ok(output),
        Some(value) => {
            schema.violations(value).into_iter().map(|v| format!("{} {}", v.pointer, v.message)).collect()
        }
        None => vec!["no JSON came at all".to_owned()],
    };
    let done = if invocation.effects.read_only { "" } else { " What it was asked to do may have happened." };
    Outcome::Failed(
        Failure::fatal(format!("The tool ran, but its output is not what it declares.{done}"))
            .with_hint("The same call will fail again; look for the result another way.")
            .caused_by(broken.join("; ")),
    )
}

fn chain(outcome: &Outcome, redactor: Option<&Redactor>) -> Vec<String> {
    match (outcome, redactor) {
        (Outcome::Failed(failure), Some(redactor)) => {
            failure.chain().iter().map(|cause| redactor.text(cause).into_owned()).collect()
        }
        (Outcome::Failed(failure), None) => failure.chain(),
        _ => Vec::new(),
    }
}

/// The refusal of a call that was stopped before it started.
pub(super) fn cancelled() -> Refusal {
    Refusal::new(RefusalCode::Cancelled, "The call was interrupted before it started; nothing happened.")
        .with_hint("Propose it again if it is still wanted.")
}

fn unfinished() -> Failure {
    Failure::unknown(
        "This call was started before and never came to an end; nobody knows whether it took effect.",
    )
    .with_hint("Find out whether it took effect before you do anything like it again.")
}
