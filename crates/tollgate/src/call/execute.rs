//! Phase 5: the body has run, at most once, behind every guard; or the call was stopped just before.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use tokio::time::Instant;

use self::{
    body::Body,
    output::{chain, checked_output, is_long, redact_apart},
};
use super::{Base, Call, Refused, Soon, permit::Permitted, soon, validate::Invocation};
use crate::{
    event::{Steps, What},
    guard::{
        Breakers, Claim, Fence, Fingerprint, Health, Ledger, Place, Purse, Reservation, Spawner, Start,
        cancellable, caught, later,
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

/// A call that has its place, and whose permit is used up: its body runs next, or an earlier answer was found.
pub(crate) struct Started {
    _earned: (),
}

impl Call<Permitted> {
    /// Reserves budget and a place, claims the key, then runs the body under deadlines, with retries, panics
    /// caught.
    pub async fn execute(self, guards: &Guards) -> Result<Call<Executed>, Refused> {
        Ok(soon!(self.start(guards))?.finish(None, guards).await)
    }

    /// The first half: everything that comes before the body.
    pub(crate) fn start(self, guards: &Guards) -> Soon<'_, Result<Call<Started>, Refused>> {
        let Call { mut base, .. } = self;
        match ready_at_once(&mut base) {
            Some(ready) => {
                let begun = ready.and_then(|()| begin(&mut base, None, guards));
                Soon::now(started(base, begun))
            }
            None => Soon::later(async move {
                let begun = match make_ready(&mut base, guards).await {
                    Ok(Ready::Start(key)) => begin(&mut base, key, guards),
                    Ok(Ready::Answered(outcome, trust, offloaded)) => {
                        given_before(&mut base, outcome, trust, offloaded)
                    }
                    Err(refusal) => Err(refusal),
                };
                started(base, begun)
            }),
        }
    }
}

fn started(base: Box<Base>, begun: Result<(), Refusal>) -> Result<Call<Started>, Refused> {
    match begun {
        Ok(()) => Ok(Call { base, state: Started { _earned: () } }),
        Err(refusal) => Err(base.refuse(Phase::Execute, refusal)),
    }
}

impl Call<Started> {
    /// Makes the body ready to be driven by somebody else, who is told through the call's lane when it has answered;
    /// `None` where there is nothing to run. [`Call::finish`] takes its answer, and watches over it where it has none yet.
    pub(crate) fn send(&mut self) -> Option<BoxFuture<'static, ()>> {
        (!self.is_answered()).then(|| Body::send_off(&mut self.base))
    }

    /// The body takes longer: observers hear of it as it comes.
    pub(crate) fn release(&mut self) {
        Body::release(&mut self.base);
    }

    fn is_answered(&self) -> bool {
        self.base.rare.as_ref().is_some_and(|rare| rare.answered.is_some())
    }

    /// When a body that was sent off has to have ended, or said something.
    pub(crate) fn deadline(&self, sent: Instant) -> Instant {
        let (pulse, timeouts) = (self.base.cx().pulse(), &self.base.invocation().tool.spec.timeouts);
        pulse.next_deadline(timeouts, sent, later(sent, timeouts.total)).0
    }

    /// True once whoever runs the call has stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.base.cx().is_stopped()
    }

    pub(crate) fn invocation(&self) -> &Invocation {
        self.base.invocation()
    }

    /// The second half at once, where the body has answered well and nothing has to be waited for.
    pub(crate) fn finish_now(mut self, guards: &Guards) -> Result<Call<Executed>, Self> {
        if self.is_answered() || self.base.scope().run.purse().is_limited() {
            return Err(self);
        }
        if !Body::answered_well(&mut self.base) {
            return Err(self);
        }
        let Call { mut base, .. } = self;
        let answer = concluded(&mut base, Health::Well, guards);
        told(&mut base, &answer);
        Ok(Call { base, state: Executed { answer } })
    }

    /// The second half: the body, to its end. `sent` is when it was sent off, where it is on its way already.
    pub(crate) async fn finish(self, sent: Option<Instant>, guards: &Guards) -> Call<Executed> {
        let Call { mut base, .. } = self;
        if let Some(answer) = base.rare.as_mut().and_then(|rare| rare.answered.take()) {
            return Call { base, state: Executed { answer } };
        }
        let began = base.scope().run.purse().is_limited().then(|| sent.unwrap_or_else(Instant::now));
        let health = Body { base: &mut base, guards }.run(sent).await;
        if let Some(began) = began {
            base.scope().run.purse().add_time(began.elapsed());
        }
        let mut answer = concluded(&mut base, health, guards);
        if let Some(redactor) = &guards.redactor
            && is_redacted_apart(&answer, guards)
        {
            redact_apart(&mut answer.outcome, redactor, guards, base.invocation()).await;
        }
        told(&mut base, &answer);
        Call { base, state: Executed { answer } }
    }
}

/// A call that reads, brings no key and has no budget to keep to begins at once, where there is room.
#[inline(never)]
fn ready_at_once(base: &mut Base) -> Option<Result<(), Refusal>> {
    if let Some(refusal) = stopped(base) {
        return Some(Err(refusal));
    }
    if base.scope().run.purse().is_limited() || base.needs_claim(base.invocation()) {
        return None;
    }
    base.place = at_once(base.scope(), base.invocation());
    base.place.as_ref().map(|_| Ok(()))
}

/// Counts it, waits for room and claims its key.
#[inline(never)]
fn make_ready<'a>(base: &'a mut Base, guards: &'a Guards) -> BoxFuture<'a, Result<Ready, Refusal>> {
    Box::pin(async move {
        let mut reservation = None;
        if base.scope().run.purse().is_limited() {
            reservation = Some(reserved(base).await?);
        }
        if !base.needs_claim(base.invocation()) {
            base.place = at_once(base.scope(), base.invocation());
        }
        let ready = match &base.place {
            Some(_) => Ready::Start(None),
            None => wait_and_claim(base, guards).await?,
        };
        if let (Ready::Start(_), Some(reservation)) = (&ready, reservation) {
            reservation.keep();
        }
        Ok(ready)
    })
}

/// Uses the permit up: what follows is the one run it stands for.
fn begin(base: &mut Base, key: Option<IdempotencyKey>, guards: &Guards) -> Result<(), Refusal> {
    let Some(permit) = base.permit.take() else { return Err(unpermitted()) };
    // No body has begun, so nobody else holds its errand.
    let Some(errand) = base.errand.own() else { return Err(unpermitted()) };
    errand.cx.begin(key, guards.redactor.clone());
    base.by = Some(permit.used());
    Ok(())
}

/// Uses the permit up for the answer of a run that was before.
#[cold]
fn given_before(
    base: &mut Base,
    outcome: Outcome,
    trust: Trust,
    offloaded: Option<Box<Offloaded>>,
) -> Result<(), Refusal> {
    let Some(permit) = base.permit.take() else { return Err(unpermitted()) };
    base.by = Some(permit.used());
    base.leave();
    let mut answer = base.answer(base.invocation().tool.label.clone(), outcome, Phase::Execute);
    (answer.replayed, answer.trust, answer.offloaded) = (true, trust, offloaded);
    base.rare().answered = Some(answer);
    Ok(())
}

/// What a body came to, as everybody else may see it; a long output is still to be looked through for secrets.
#[inline(never)]
fn concluded(base: &mut Base, health: Health, guards: &Guards) -> Settled {
    let ran = base.ran.take();
    let invocation = base.invocation();
    guards.breakers.record(&invocation.tool.spec, base.scope(), health);
    let outcome = checked_output(invocation, ran);
    let mut answer = base.answer(invocation.tool.label.clone(), outcome, Phase::Execute);
    answer.attempts = base.cx().attempt();
    if let Some(rare) = &mut base.rare {
        rare.probe = None;
    }
    if let Some(redactor) = &guards.redactor
        && !is_redacted_apart(&answer, guards)
    {
        redactor.outcome(&mut answer.outcome);
    }
    answer
}

fn is_redacted_apart(answer: &Settled, guards: &Guards) -> bool {
    guards.spawner.is_some() && matches!(&answer.outcome, Outcome::Ok(output) if is_long(output))
}

fn told(base: &mut Base, answer: &Settled) {
    let mut steps = base.steps();
    if let Outcome::Ok(_) = answer.outcome {
        steps.note_ends_well();
    } else {
        told_failed(steps, answer);
    }
}

#[cold]
fn told_failed(mut steps: Steps<'_>, answer: &Settled) {
    steps.note(|| What::Executed { status: answer.status(), chain: chain(&answer.outcome).into() });
}

/// Why a call does not start any more, or never could.
fn stopped(base: &Base) -> Option<Refusal> {
    if base.cx().is_kept_from_starting() {
        return Some(cancelled());
    }
    missing_key(base.invocation(), base)
}

/// Counts a call that nothing stops any more.
async fn reserved(base: &Base) -> Result<Reservation, Refusal> {
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
pub(super) fn missing_key(invocation: &Invocation, base: &Base) -> Option<Refusal> {
    let missing = invocation.tool.spec.requires_idempotency_key && base.key().is_none();
    missing.then(|| {
        let label = &invocation.tool.label;
        let reason = format!("`{label}` runs only with an idempotency key, and this call brings none.");
        Refusal::new(RefusalCode::MissingIdempotencyKey, reason)
            .with_hint("Give the call an `idempotency_key`.")
    })
}

/// Waits for a place and claims the key. Nothing has happened yet: any refusal here is a clean one.
async fn wait_and_claim(base: &mut Base, guards: &Guards) -> Result<Ready, Refusal> {
    base.steps().flush();
    let (cx, invocation) = (base.cx(), base.invocation());
    let token = cx.until_started();
    let key = match base.key() {
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
        ticket: base.ticket(),
        run: cx.run.id().clone(),
        caller: cx.caller.clone(),
        key: key.clone(),
        fingerprint: Fingerprint::of(&invocation.tool.spec, &invocation.args),
    };
    // Begun inside the future, so that a panic in the method itself is caught with it.
    match cancellable(async move { guards.ledger.start(start).await }.boxed(), token).await {
        Some(Ok(Ok(Claim::Granted(fence)))) => {
            let claim = OpenClaim { ledger: guards.ledger.clone(), fence: Some(fence) };
            base.rare().claim = Some(claim);
            Ok(Ready::Start(Some(key)))
        }
        Some(Ok(Ok(Claim::Replay(settled)))) => {
            let Answer { outcome, trust, offloaded, mut context, .. } = settled.into_answer();
            // Hooks are not shown the answer again; what they said of it then still holds.
            let known = &mut base.rare().context;
            context.retain(|words| !known.contains(words));
            known.append(&mut context);
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

impl Base {
    /// True when the call takes effect at most once, and so is claimed before it starts.
    pub(super) fn needs_claim(&self, invocation: &Invocation) -> bool {
        self.key().is_some() || !invocation.effects.read_only
    }
}

/// A key for a call that brings none.
fn derived_key(base: &Base) -> IdempotencyKey {
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
