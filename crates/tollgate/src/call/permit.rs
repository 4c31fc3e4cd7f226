//! Phase 4: policy, and where it says so a person, allows exactly these arguments.

use std::{borrow::Cow, sync::Arc};

use super::{
    Base, Call, Refused, Soon,
    before::Prepared,
    check::{denied, policy_says},
    execute::Guards,
    validate::Invocation,
};
use crate::{
    event::What,
    guard::{Breakers, Probe, Ticket, caught},
    json::Likeness,
    outcome::{Phase, Refusal, RefusalCode},
    policy::{Approver, Decision, Opinion, Policy, RuleRef, Verdict},
};

mod ask;

/// Proof that a call was allowed. Only this file and the one below it can make one, and it cannot be cloned.
#[derive(Debug)]
pub struct Permit {
    // The rule, or the words for whatever decided in its place.
    by: RuleRef,
}

/// A call that may run: the arguments and the permit for exactly them, inseparable.
pub struct Permitted {
    _earned: (),
}

impl Permit {
    /// The rule, default or person that allowed it.
    pub fn by(&self) -> &str {
        &self.by.text
    }

    /// By the word of a rule, or of whatever decided in its place.
    fn of(verdict: Verdict) -> Self {
        match (verdict.rule, verdict.reason) {
            (Some(rule), _) => Self { by: rule },
            (None, Some(reason)) => Self::by_word(reason),
            (None, None) => Self::by_word("the policy"),
        }
    }

    fn by_word(word: impl Into<Arc<str>>) -> Self {
        Self { by: RuleRef::said(word.into()) }
    }

    /// The rule, or the words for whatever decided in its place.
    pub(super) fn rule(&self) -> &RuleRef {
        &self.by
    }

    /// Uses it up for the one run it stands for.
    pub(super) fn used(self) -> RuleRef {
        self.by
    }
}

impl Call<Prepared> {
    /// Admission first: nobody is asked about a call that could not run. Then policy, the tool's own opinion,
    /// and a person, on the final arguments.
    #[inline(never)]
    pub fn permit<'a>(
        self,
        policy: &'a dyn Policy,
        approver: &'a dyn Approver,
        guards: &'a Guards,
    ) -> Soon<'a, Result<Call<Permitted>, Refused>> {
        let Call { mut base, .. } = self;
        let ticket = noted(base.invocation(), &base, guards);
        if ticket.is_some() || base.rare.is_some() {
            base.rare().ticket = ticket;
        }
        match admitted(&mut base, guards).and_then(|()| judge(&mut base, policy, Judged::of)) {
            Ok(Judged::Allowed(permit)) => Soon::now(Ok(permitted(base, permit, guards))),
            Ok(Judged::Asks(verdict)) => ask_first(base, *verdict, (policy, approver, guards)),
            Err(refusal) => Soon::now(Err(base.refuse(Phase::Permit, refusal))),
        }
    }
}

/// What was decided about a call that is not denied: a pointer, where it may run.
enum Judged {
    Allowed(Permit),
    Asks(Box<Verdict>),
}

impl Judged {
    fn of(verdict: Verdict) -> Self {
        match verdict.decision {
            Decision::Allow => Self::Allowed(Permit::of(verdict)),
            Decision::Ask | Decision::Deny => Self::Asks(Box::new(verdict)),
        }
    }
}

#[cold]
fn ask_first<'a>(
    mut base: Box<Base>,
    verdict: Verdict,
    whom: (&'a dyn Policy, &'a dyn Approver, &'a Guards),
) -> Soon<'a, Result<Call<Permitted>, Refused>> {
    Soon::later(async move {
        match ask::ask(&mut base, verdict, whom).await {
            Ok(permit) => Ok(permitted(base, permit, whom.2)),
            Err(refusal) => Err(base.refuse(Phase::Permit, refusal)),
        }
    })
}

/// The permit goes to the arguments it was given for, and everyone who writes down or watches is told.
fn permitted(mut base: Box<Base>, permit: Permit, guards: &Guards) -> Call<Permitted> {
    if let Some(ticket) = base.ticket() {
        write_down(ticket, &base, &permit, guards);
    }
    base.steps().note_permitted(|| other_words(&permit.by, guards));
    base.permit = Some(permit);
    Call { base, state: Permitted { _earned: () } }
}

#[inline(never)]
fn write_down(ticket: Ticket, base: &Base, permit: &Permit, guards: &Guards) {
    let run = base.scope().run.id();
    let _ = caught(|| guards.ledger.decide(ticket, run, permit.by()));
}

/// Whether the call could run at all; from here on it may be the one that tries a breaker.
fn admitted(base: &mut Base, guards: &Guards) -> Result<(), Refusal> {
    if let Some(probe) = admit(base.invocation(), base, &guards.breakers)? {
        base.rare().probe = Some(probe);
    }
    let scope = base.scope();
    scope.run.window().admit(scope.turn, || same_call(base.invocation()))
}

/// Tells the ledger of a call that will need a claim. Nothing depends on it yet: the claim itself decides.
fn noted(invocation: &Invocation, base: &Base, guards: &Guards) -> Option<Ticket> {
    if base.needs_claim(invocation) { claimed(invocation, base, guards) } else { None }
}

#[inline(never)]
fn claimed(invocation: &Invocation, base: &Base, guards: &Guards) -> Option<Ticket> {
    let call = base.record_of(base.cx().call_id(), &invocation.tool.label, None);
    caught(|| guards.ledger.propose(&call)).ok().flatten()
}

fn admit(
    invocation: &Invocation,
    base: &Base,
    breakers: &Arc<Breakers>,
) -> Result<Option<Box<Probe>>, Refusal> {
    let (spec, scope) = (&invocation.tool.spec, base.scope());
    let probe = breakers.admit(spec, scope)?;
    scope.run.purse().admit(spec.name())?;
    if spec.requires_interaction && !scope.interactive {
        return Err(alone(&invocation.tool.label));
    }
    Ok(probe)
}

#[cold]
fn alone(label: &str) -> Refusal {
    let reason = format!("`{label}` needs a person to interact with, and nobody is there.");
    Refusal::new(RefusalCode::RequiresInteraction, reason).with_hint("Do without it in this run.")
}

/// A number that equal calls of one process share.
fn same_call(invocation: &Invocation) -> u64 {
    let likeness = invocation.likeness.unwrap_or_else(|| Likeness::of(&invocation.args));
    likeness.of_call(Arc::as_ptr(&invocation.tool) as usize)
}

impl Call<super::Validated> {
    /// True where the tool's own opinion is stricter than whatever policy says.
    pub(crate) fn is_tightened(&self) -> bool {
        let invocation = self.base.invocation();
        !matches!(invocation.tool.tool.authorize(self.base.scope(), invocation), Opinion::Abstain)
    }
}

impl Call<super::Checked> {
    /// What phase 4 would say, with nobody asked and nothing reserved or counted.
    pub(crate) fn foresee(self, policy: &dyn Policy, breakers: &Arc<Breakers>) -> Result<Foreseen, Refused> {
        let Call { mut base, .. } = self;
        let label = base.invocation().tool.label.clone();
        if let Some(refusal) = super::execute::missing_key(base.invocation(), &base) {
            return Err(base.refuse(Phase::Execute, refusal));
        }
        let admitted = admit(base.invocation(), &base, breakers);
        match admitted.and_then(|_probe| judge(&mut base, policy, |verdict| verdict)) {
            Ok(verdict) => Ok((label, (base.cx().call_id().clone(), verdict))),
            Err(refusal) => Err(base.refuse(Phase::Permit, refusal)),
        }
    }
}

pub(crate) type Foreseen = (Arc<str>, (crate::tool::CallId, Verdict));

/// Policy and the tool's own opinion, the stricter of the two. A deny is a refusal already; what else comes of it is
/// made on the spot: a verdict is wide, and would be moved on every way out.
fn judge<T>(base: &mut Base, policy: &dyn Policy, of: impl FnOnce(Verdict) -> T) -> Result<T, Refusal> {
    let opinion = opinion(base);
    let invocation = base.invocation();
    policy_says(|| {
        let verdict = policy.decide(&invocation.query(base.scope()));
        match (verdict.decision, opinion) {
            (Decision::Deny, _) => Err(denied(&invocation.tool.label, verdict)),
            (_, Opinion::Abstain) => Ok(of(verdict)),
            (_, opinion) => tightened(verdict, opinion).map(of),
        }
    })?
}

#[cold]
fn tightened(verdict: Verdict, opinion: Opinion) -> Result<Verdict, Refusal> {
    match opinion {
        Opinion::Abstain => Ok(verdict),
        Opinion::Deny(refusal) => Err(refusal),
        Opinion::Ask(reason) => {
            // A rule that allows is not what asks.
            let rule = verdict.rule.filter(|_| verdict.decision == Decision::Ask);
            Ok(Verdict { decision: Decision::Ask, reason: Some(reason.into()), rule, ..verdict })
        }
    }
}

/// The tool's own view; one that fails has said no.
fn opinion(base: &mut Base) -> Opinion {
    let invocation = base.invocation();
    let opinion = caught(|| invocation.tool.tool.authorize(base.scope(), invocation));
    opinion.unwrap_or_else(|panic| {
        base.steps().note(|| What::Fault { message: panic.into() });
        Opinion::Deny(Refusal::new(
            RefusalCode::Internal,
            "The tool's own permission check failed, so it did not run.",
        ))
    })
}

/// What observers are told in the place of a rule for exactly one call: it quotes its arguments, and so may hold a secret.
fn other_words(rule: &RuleRef, guards: &Guards) -> Option<Arc<str>> {
    if rule.quotes() { Some(redacted(&rule.text, guards)) } else { None }
}

#[cold]
fn redacted(words: &Arc<str>, guards: &Guards) -> Arc<str> {
    match guards.redactor.as_ref().map(|redactor| redactor.text(words)) {
        Some(Cow::Owned(clean)) => clean.into(),
        _ => words.clone(),
    }
}
