//! Phase 5: the body has run, at most once, behind every guard; or the call was stopped just before.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::Instant;

use self::{
    body::{Body, Ending},
    output::{chain, checked_output, is_long, redact_apart},
};
use super::{Call, Refused, permit::Permitted, validate::Invocation};
use crate::{
    event::What,
    guard::{
        Breakers, Claim, Fence, Fingerprint, Ledger, Place, Purse, Reservation, Spawner, Start, cancellable,
        caught,
    },
    outcome::{Answer, Failure, Offloaded, Outcome, Phase, Redactor, Refusal, RefusalCode, Settled, Trust},
    tool::{IdempotencyKey, Scope},
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
    pub redactor: Option<Redactor>,
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
enum Ready {
    /// It has its place.
    Start(Option<IdempotencyKey>),
    /// It ran before: this was, or stands for, its answer.
    Answered(Outcome, Trust, Option<Box<Offloaded>>),
}

impl Call<Permitted> {
    /// Reserves budget and a place, claims the key, then runs the body under deadlines, with retries, panics
    /// caught.
    pub async fn execute(self, guards: &Guards) -> Result<Call<Executed>, Refused> {
        let Call { mut base, .. } = self;
        let Some(permit) = base.permit.take() else { return Err(base.refuse(Phase::Execute, unpermitted())) };
        if let Some(refusal) = stopped(&base) {
            return Err(base.refuse(Phase::Execute, refusal));
        }
        let mut reservation = None;
        if base.scope().run.purse().is_limited() {
            match reserved(&base).boxed().await {
                Ok(counted) => reservation = Some(counted),
                Err(refusal) => return Err(base.refuse(Phase::Execute, refusal)),
            }
        }
        if !base.needs_claim(base.invocation()) {
            base.place = at_once(base.scope(), base.invocation());
        }
        let ready = match &base.place {
            Some(_) => Ok(Ready::Start(None)),
            None => wait_and_claim(&mut base, guards).boxed().await,
        };
        let key = match ready {
            Ok(Ready::Start(key)) => key,
            Ok(Ready::Answered(outcome, trust, offloaded)) => {
                let mut answer = base.answer(base.invocation().tool.label.clone(), outcome, Phase::Execute);
                answer.replayed = true;
                base.leave();
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
        // No body has begun, so nobody else holds its errand.
        let Some(errand) = base.errand.own() else {
            return Err(base.refuse(Phase::Execute, unpermitted()));
        };
        errand.cx.begin(key, guards.redactor.clone());
        // The permit is used up here: what follows is the one run it stands for.
        base.by = Some(permit.used());
        let (began, probe) = (base.scope().run.purse().is_limited().then(Instant::now), base.probe.take());
        let Ending(result, health) = Body { base: &mut base, guards }.run().await;
        if let Some(began) = began {
            base.scope().run.purse().add_time(began.elapsed());
        }
        let invocation = base.invocation();
        guards.breakers.record(&invocation.tool.spec, base.scope(), health);
        drop(probe);
        let outcome = checked_output(invocation, result);
        let mut answer = base.answer(base.invocation().tool.label.clone(), outcome, Phase::Execute);
        answer.attempts = base.cx().attempt();
        if let Some(redactor) = &guards.redactor {
            if guards.spawner.is_some() && is_long(&answer.outcome) {
                redact_apart(&mut answer.outcome, redactor, guards, invocation).boxed().await;
            } else {
                redactor.outcome(&mut answer.outcome);
            }
        }
        if let Outcome::Ok(_) = answer.outcome {
            base.steps().note_brief(|| What::begins_or_ends(1.0));
        }
        base.steps()
            .note(|| What::Executed { status: answer.status(), chain: chain(&answer.outcome).into() });
        Ok(Call { base, state: Executed { answer } })
    }
}

/// Why a call does not start any more, or never could.
fn stopped(base: &super::Base) -> Option<Refusal> {
    if base.cx().until_started().is_cancelled() {
        return Some(cancelled());
    }
    missing_key(base.invocation(), base)
}

/// Counts a call that nothing stops any more.
async fn reserved(base: &super::Base) -> Result<Reservation, Refusal> {
    Purse::reserve(&base.scope().run, &base.invocation().tool.spec.id.name).await
}

/// A place for a read, where one is free at once.
fn at_once(scope: &Scope, invocation: &Invocation) -> Option<Place> {
    if invocation.tool.spec.conducts {
        return Some(Place::Nowhere);
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
async fn wait_and_claim(base: &mut super::Base, guards: &Guards) -> Result<Ready, Refusal> {
    base.steps().flush();
    let (cx, invocation) = (base.cx(), base.invocation());
    let token = cx.until_started();
    let key = match &base.key {
        Some(key) => Some(key.clone()),
        None if invocation.effects.read_only => None,
        None => Some(derived_key(base)),
    };
    let place = if invocation.tool.spec.conducts {
        Place::Nowhere
    } else {
        let class = invocation.effects.class();
        match cancellable(cx.workspace.enter(class).boxed(), token).await {
            Some(Ok(place)) => place,
            _ => return Err(cancelled()),
        }
    };
    // From here on it is left whenever the call ends.
    base.place = Some(place);
    let (cx, invocation) = (base.cx(), base.invocation());
    let token = cx.until_started();
    let Some(key) = key else { return Ok(Ready::Start(None)) };
    let start = Start {
        ticket: base.ticket,
        run: cx.run.id().clone(),
        caller: cx.caller.clone(),
        key: key.clone(),
        fingerprint: Fingerprint::of(&invocation.tool.spec, &invocation.args),
    };
    // Begun inside the future, so that a panic in the method itself is caught with it.
    match cancellable(async move { guards.ledger.start(start).await }.boxed(), token).await {
        Some(Ok(Ok(Claim::Granted(fence)))) => {
            let claim = OpenClaim { ledger: guards.ledger.clone(), fence: Some(fence) };
            base.claim = Some(Box::new(claim));
            Ok(Ready::Start(Some(key)))
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
            base.steps().note(|| What::LedgerFault { message: fault.to_string().into() });
            Err(Refusal::new(
                RefusalCode::Internal,
                "The start of this call could not be recorded, so it did not run.",
            ))
        }
        Some(Err(panic)) => {
            base.steps().note(|| What::LedgerFault { message: panic.into() });
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
    let cx = base.cx();
    IdempotencyKey::of_call(cx.run.id(), cx.turn, base.position, cx.call_id())
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
