//! Phase 5: the body has run, at most once, behind every guard; or the call was stopped just before.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::Instant;

use self::{
    body::{Body, Ending},
    output::{chain, checked_output, redact},
};
use super::{Call, Refused, permit::Permitted, validate::Invocation};
use crate::{
    event::What,
    guard::{
        Breakers, Claim, Fence, Fingerprint, Ledger, Purse, Reservation, Slot, Spawner, Start, cancellable,
        caught,
    },
    outcome::{Answer, Failure, Offloaded, Outcome, Phase, Redactor, Refusal, RefusalCode, Settled, Trust},
    tool::{Cx, IdempotencyKey, Scope},
};

mod body;
mod output;

/// A call whose body has come to an end, or whose earlier answer was found.
pub struct Executed {
    /// The answer as it stands: what is still to come is written into it.
    pub(super) answer: Settled,
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
    pub(super) fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// The end is written, or it is known that it could not be.
    pub(super) fn close(&mut self) {
        self.fence = None;
    }
}

impl Drop for OpenClaim {
    fn drop(&mut self) {
        if let Some(fence) = self.fence.take() {
            let _ = caught(|| self.ledger.abandon(fence));
        }
    }
}

/// What came of the steps before the body.
enum Ready<'a> {
    Start(Slot<'a>, Option<IdempotencyKey>),
    /// It ran before: this was, or stands for, its answer.
    Answered(Outcome, Trust, Option<Box<Offloaded>>),
}

impl Call<Permitted> {
    /// Reserves budget and a place, claims the key, then runs the body under deadlines, with retries, panics
    /// caught.
    pub async fn execute(self, guards: &Guards) -> Result<Call<Executed>, Refused> {
        let Call { mut base, .. } = self;
        let Some(permit) = base.permit.take() else { return Err(base.refuse(Phase::Execute, unpermitted())) };
        let reservation = match reserved(&base).await {
            Ok(reservation) => reservation,
            Err(refusal) => return Err(base.refuse(Phase::Execute, refusal)),
        };
        let cx =
            Cx::new(base.scope.clone(), base.id.clone(), base.lane.body.clone(), guards.redactor.clone());
        let cx = Arc::new(cx);
        let now = if base.needs_claim(base.invocation()) { None } else { at_once(&cx, base.invocation()) };
        let ready = match now {
            Some(slot) => Ok(Ready::Start(slot, None)),
            None => wait_and_claim(&mut base, guards).boxed().await,
        };
        let (slot, key) = match ready {
            Ok(Ready::Start(slot, key)) => (slot, key),
            Ok(Ready::Answered(outcome, trust, offloaded)) => {
                let mut answer = base.answer(base.invocation().tool.label.clone(), outcome, Phase::Execute);
                answer.replayed = true;
                answer.trust = trust;
                answer.offloaded = offloaded;
                base.by = Some(permit.used());
                return Ok(Call { base, state: Executed { answer } });
            }
            Err(refusal) => return Err(base.refuse(Phase::Execute, refusal)),
        };
        if let Some(reservation) = reservation {
            reservation.keep();
        }
        if let Some(key) = key {
            cx.claimed_under(key);
        }
        // The permit is used up here: what follows is the one run it stands for.
        base.by = Some(permit.used());
        let (began, probe) = (base.scope.run.purse().is_limited().then(Instant::now), base.probe.take());
        let super::Base { invocation: Some(invocation), trail, .. } = &mut *base else {
            return Err(base.refuse(Phase::Execute, unpermitted()));
        };
        let Ending(result, health) = Body { invocation, cx: &cx, guards }.run(slot, trail).await;
        if let Some(began) = began {
            base.scope.run.purse().add_time(began.elapsed());
        }
        let invocation = base.invocation();
        guards.breakers.record(&invocation.tool.spec, &base.scope, health);
        drop(probe);
        let outcome = checked_output(invocation, result);
        let mut answer = base.answer(invocation.tool.label.clone(), outcome, Phase::Execute);
        answer.attempts = cx.attempt();
        if let Some(redactor) = &guards.redactor {
            redact(&mut answer.outcome, redactor, guards, invocation).await;
        }
        if let Outcome::Ok(_) = answer.outcome {
            base.trail.note_brief(|| What::begins_or_ends(1.0));
        }
        base.trail.note(|| What::Executed { status: answer.status(), chain: chain(&answer.outcome).into() });
        Ok(Call { base, state: Executed { answer } })
    }
}

/// Counts a call that nothing stops any more, where somebody counts.
async fn reserved(base: &super::Base) -> Result<Option<Reservation>, Refusal> {
    let invocation = base.invocation();
    if base.lane.until_started(&base.scope).is_cancelled() {
        return Err(cancelled());
    }
    if let Some(refusal) = missing_key(invocation, base) {
        return Err(refusal);
    }
    if !base.scope.run.purse().is_limited() {
        return Ok(None);
    }
    Purse::reserve(&base.scope.run, &invocation.tool.spec.id.name).boxed().await.map(Some)
}

/// A place for a read, where one is free at once.
fn at_once<'a>(scope: &'a Scope, invocation: &Invocation) -> Option<Slot<'a>> {
    if invocation.tool.spec.conducts {
        return Some(scope.workspace.pass_by());
    }
    scope.workspace.enter_now(invocation.effects.class())
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
async fn wait_and_claim(base: &mut super::Base, guards: &Guards) -> Result<Ready<'static>, Refusal> {
    base.trail.flush();
    let invocation = base.invocation().clone();
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
    let slot = slot.owned();
    let Some(key) = key else { return Ok(Ready::Start(slot, None)) };
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
            base.claim = Some(Box::new(claim));
            Ok(Ready::Start(slot, Some(key)))
        }
        Some(Ok(Ok(Claim::Replay(settled)))) => {
            let Answer { outcome, trust, offloaded, mut context, .. } = settled.into_answer();
            // Hooks are not shown the answer again; what they said of it then still holds.
            context.retain(|words| !base.context.contains(words));
            base.context.append(&mut context);
            Ok(Ready::Answered(outcome, trust, offloaded))
        }
        Some(Ok(Ok(Claim::Unfinished))) => {
            Ok(Ready::Answered(Outcome::Failed(unfinished()), Trust::TrustedSystem, None))
        }
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

/// What is said of a call that came here without what the phases before give it; none does.
pub(super) fn unpermitted() -> Refusal {
    Refusal::new(RefusalCode::Internal, "Nobody allowed this call, so it did not run.")
}

/// The refusal of a call that was stopped before it started.
pub(super) fn cancelled() -> Refusal {
    Refusal::new(RefusalCode::Cancelled, "The call was interrupted before it started; nothing happened.")
        .with_hint("Propose it again if it is still wanted.")
}

/// What is said of a call that started and has no end.
pub(crate) const UNFINISHED: &str =
    "This call was started before and never came to an end; nobody knows whether it took effect.";

fn unfinished() -> Failure {
    Failure::unknown(UNFINISHED)
        .with_hint("Find out whether it took effect before you do anything like it again.")
}
