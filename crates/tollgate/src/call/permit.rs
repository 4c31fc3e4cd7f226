//! Phase 4: policy, and where it says so a person, allows exactly these arguments.

use std::{
    borrow::Cow,
    hash::{BuildHasher, Hash, Hasher},
    sync::Arc,
};

use futures_util::FutureExt;
use serde_json::Value;

use super::{
    AskedRef, Call, Refused,
    before::Prepared,
    check::{denied, policy_says},
    execute::Guards,
    validate::Invocation,
};
use crate::{
    event::What,
    guard::{Breakers, Probe, Ticket, caught},
    outcome::{Phase, Refusal, RefusalCode},
    policy::{Approver, Decision, Opinion, Policy, Verdict},
};

mod ask;

/// Proof that a call was allowed. Only this file and the one below it can make one, and it cannot be cloned.
#[derive(Debug)]
pub struct Permit {
    by: Arc<str>,
}

/// A call that may run: the arguments and the permit for exactly them, inseparable.
pub struct Permitted {
    pub(super) invocation: Box<Invocation>,
    pub(super) permit: Permit,
    pub(super) probe: Option<Box<Probe>>,
}

impl Permit {
    /// The rule, default or person that allowed it.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Uses it up for the one run it stands for.
    pub(super) fn used(self) -> Arc<str> {
        self.by
    }
}

impl Call<Prepared> {
    /// Admission first: nobody is asked about a call that could not run. Then policy, the tool's own opinion,
    /// and a person, on the final arguments.
    pub async fn permit(
        self,
        policy: &dyn Policy,
        approver: &dyn Approver,
        guards: &Guards,
    ) -> Result<Call<Permitted>, Refused> {
        let Call { mut base, state: Prepared { invocation } } = self;
        base.ticket = noted(&invocation, &base, guards);
        let admitted = admit(&invocation, &base, &guards.breakers).and_then(|probe| {
            base.scope.run.window().admit(base.scope.turn, || same_call(&invocation)).map(|()| probe)
        });
        let decided = match admitted {
            Ok(probe) => {
                let permit = decide(&invocation, &mut base, policy, approver, guards).await;
                permit.map(|permit| (probe, permit))
            }
            Err(refusal) => Err(refusal),
        };
        match decided {
            Ok((probe, permit)) => {
                if let Some(ticket) = base.ticket {
                    let run = base.scope.run.id();
                    let _ = caught(|| guards.ledger.decide(ticket, run, &permit.by));
                }
                base.trail.note(|| What::Permitted { by: told(&permit.by, guards) });
                Ok(Call { base, state: Permitted { invocation, permit, probe } })
            }
            Err(refusal) => Err(base.refuse(invocation, Phase::Permit, refusal)),
        }
    }
}

/// Tells the ledger of a call that will need a claim. Nothing depends on it yet: the claim itself decides.
fn noted(invocation: &Invocation, base: &super::Base, guards: &Guards) -> Option<Ticket> {
    if !base.needs_claim(invocation) {
        return None;
    }
    let call = base.record_of(&invocation.tool.label, AskedRef::Args(invocation));
    caught(|| guards.ledger.propose(&call)).ok().flatten()
}

fn admit(
    invocation: &Invocation,
    base: &super::Base,
    breakers: &Arc<Breakers>,
) -> Result<Option<Box<Probe>>, Refusal> {
    let (spec, scope) = (&invocation.tool.spec, &base.scope);
    let probe = breakers.admit(spec, scope)?;
    scope.run.purse().admit(spec.name())?;
    if spec.requires_interaction && !scope.interactive {
        let reason =
            format!("`{}` needs a person to interact with, and nobody is there.", invocation.tool.label);
        return Err(
            Refusal::new(RefusalCode::RequiresInteraction, reason).with_hint("Do without it in this run.")
        );
    }
    Ok(probe)
}

/// A number that equal calls of one process share.
fn same_call(invocation: &Invocation) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    hasher.write_usize(Arc::as_ptr(&invocation.tool) as usize);
    hash_value(&invocation.args, &mut hasher);
    hasher.finish()
}

impl Call<super::Checked> {
    /// What phase 4 would say, with nobody asked and nothing reserved or counted.
    pub(crate) fn foresee(self, policy: &dyn Policy, breakers: &Arc<Breakers>) -> Result<Foreseen, Refused> {
        let Call { mut base, state: super::Checked { invocation } } = self;
        let label = invocation.tool.label.clone();
        if let Some(refusal) = super::execute::missing_key(&invocation, &base) {
            return Err(base.refuse(invocation, Phase::Execute, refusal));
        }
        let verdict =
            admit(&invocation, &base, breakers).and_then(|_probe| judge(&invocation, &mut base, policy));
        match verdict {
            Ok(verdict) => Ok((label, (base.id, verdict))),
            Err(refusal) => Err(base.refuse(invocation, Phase::Permit, refusal)),
        }
    }
}

pub(crate) type Foreseen = (Arc<str>, (crate::tool::CallId, Verdict));

/// Policy and the tool's own opinion, the stricter of the two. A deny is a refusal already.
fn judge(invocation: &Invocation, base: &mut super::Base, policy: &dyn Policy) -> Result<Verdict, Refusal> {
    let opinion = opinion(invocation, base);
    let verdict = policy_says(|| policy.decide(&invocation.query(&base.scope)))?;
    match (verdict.decision, opinion) {
        (Decision::Deny, _) => Err(denied(&invocation.tool.label, verdict)),
        (_, Opinion::Deny(refusal)) => Err(refusal),
        (_, Opinion::Ask(reason)) => {
            Ok(Verdict { decision: Decision::Ask, reason: Some(reason.into()), ..verdict })
        }
        (_, Opinion::Abstain) => Ok(verdict),
    }
}

/// The tool's own view; one that fails has said no.
fn opinion(invocation: &Invocation, base: &mut super::Base) -> Opinion {
    let opinion = caught(|| invocation.tool.tool.authorize(&base.scope, &invocation.typed));
    opinion.unwrap_or_else(|panic| {
        base.trail.note(|| What::Fault { message: panic.into() });
        Opinion::Deny(Refusal::new(
            RefusalCode::Internal,
            "The tool's own permission check failed, so it did not run.",
        ))
    })
}

/// Hashes a value without copying it; the order of an object's fields does not matter.
fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(bool) => hasher.write_u8(1 + u8::from(*bool)),
        Value::Number(number) => number.hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => {
            hasher.write_usize(items.len());
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| {
                let mut field = foldhash::fast::FixedState::default().build_hasher();
                key.hash(&mut field);
                hash_value(value, &mut field);
                field.finish()
            });
            hasher.write_u64(fields.fold(map.len() as u64, u64::wrapping_add));
        }
    }
}

async fn decide(
    invocation: &Invocation,
    base: &mut super::Base,
    policy: &dyn Policy,
    approver: &dyn Approver,
    guards: &Guards,
) -> Result<Permit, Refusal> {
    let verdict = judge(invocation, base, policy)?;
    if verdict.decision == Decision::Allow {
        return Ok(Permit { by: by(verdict) });
    }
    ask::ask(invocation, base, verdict, (policy, approver, guards)).boxed().await
}

fn by(verdict: Verdict) -> Arc<str> {
    match (verdict.rule, verdict.reason) {
        (Some(rule), _) => rule.text,
        (None, Some(reason)) => reason,
        (None, None) => "the policy".into(),
    }
}

/// A rule as observers are told it: one for exactly one call quotes its arguments, and so may hold a secret.
fn told(rule: &Arc<str>, guards: &Guards) -> Arc<str> {
    match guards.redactor.as_ref().map(|redactor| redactor.text(rule)) {
        Some(Cow::Owned(clean)) => clean.into(),
        _ => rule.clone(),
    }
}
