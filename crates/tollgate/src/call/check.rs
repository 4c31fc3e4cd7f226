//! Phase 2: nothing forbids the call, it stays inside the roots, and the tool's own rules hold.

use super::{
    Call, Refused,
    validate::{Invocation, Validated},
};
use crate::{
    event::What,
    guard::{Guarded, caught, guarded},
    outcome::{Phase, Refusal, RefusalCode},
    policy::{Policy, Verdict, outside_roots},
};

/// A call that nothing forbids.
pub struct Checked {
    _earned: (),
}

/// How long a tool's own check may take.
const CHECK_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

impl Call<Validated> {
    /// Asks the deny rules and the roots first, alone: neither the tool's check nor a hook learns of what is
    /// forbidden. Then the tool's own rules.
    pub async fn check(self, policy: &dyn Policy) -> Result<Call<Checked>, Refused> {
        let Call { mut base, .. } = self;
        let refusal = match forbidden(policy, base.invocation(), base.scope()) {
            Some(refusal) => Some(refusal),
            None => own_rules(&mut base).await.err(),
        };
        match refusal {
            None => {
                base.steps().note(|| What::Checked);
                Ok(Call { base, state: Checked { _earned: () } })
            }
            Some(refusal) => Err(base.refuse(Phase::Check, refusal)),
        }
    }
}

impl Call<Checked> {
    /// The tool, its arguments and what they would do.
    pub fn invocation(&self) -> &Invocation {
        self.base.invocation()
    }
}

#[inline(never)]
fn forbidden(policy: &dyn Policy, invocation: &Invocation, scope: &crate::tool::Scope) -> Option<Refusal> {
    if scope.reading_only && !invocation.effects.read_only {
        return Some(only_reading(&invocation.tool.label));
    }
    // Worded in there: nothing wider than a pointer comes out.
    let refused = || {
        let verdict = policy.forbids(&invocation.query(scope))?;
        Some(denied(&invocation.tool.label, verdict))
    };
    match policy_says(refused) {
        Ok(None) => {}
        Ok(Some(refusal)) | Err(refusal) => return Some(refusal),
    }
    outside_roots(&invocation.effects, scope).map(|path| {
        Refusal::new(
            RefusalCode::OutsideRoots,
            format!("The path {:?} is outside the folders you may touch.", path.display().to_string()),
        )
        .with_hint("Stay inside the working folder.")
    })
}

#[cold]
fn only_reading(label: &str) -> Refusal {
    let reason = format!("This call of `{label}` would change something, and for now you may only read.");
    Refusal::new(RefusalCode::Denied, reason)
        .with_hint("Look around, make a plan, and ask to start work before you change anything.")
}

/// A policy that fails has not said yes.
pub(super) fn policy_says<T>(ask: impl FnOnce() -> T) -> Result<T, Refusal> {
    caught(ask)
        .map_err(|_| Refusal::new(RefusalCode::Internal, "The policy failed, so the call did not run."))
}

/// The words for a rule that says no, here and in phase 4.
#[cold]
pub(super) fn denied(tool: &str, verdict: Verdict) -> Refusal {
    let why = verdict.reason.map_or(String::new(), |reason| format!(" {reason}"));
    if verdict.protected.is_some() {
        return Refusal::new(
            RefusalCode::ProtectedPath,
            format!("A call of `{tool}` like this is refused.{why}"),
        )
        .with_hint("Leave it alone; a person changes it by hand.");
    }
    let rule =
        verdict.rule.as_ref().map_or("the policy".to_owned(), |rule| format!("the rule `{}`", rule.text));
    let refusal =
        Refusal::new(RefusalCode::Denied, format!("A call of `{tool}` like this is denied by {rule}.{why}"));
    refusal.with_rule(verdict.rule).with_hint("Do it another way, or say what you would need and why.")
}

async fn own_rules(base: &mut super::Base) -> Result<(), Refusal> {
    let super::Base { errand, trail, .. } = base;
    let (cx, invocation) = (errand.cx(), errand.invocation());
    let mut steps = trail.about(errand, None);
    let tool = &invocation.tool;
    let check = tool.tool.check(cx, invocation);
    match guarded(check, CHECK_LIMIT, || cx.until_started(), &mut steps).await {
        Guarded::Done(answer) => answer,
        Guarded::Panicked(panic) => {
            steps.note(|| What::Fault { message: panic.into() });
            Err(Refusal::new(
                RefusalCode::Internal,
                format!("The check of `{}` failed, so the call did not run.", tool.label),
            ))
        }
        Guarded::Late => Err(Refusal::new(
            RefusalCode::Internal,
            format!(
                "The check of `{}` did not finish within {CHECK_LIMIT:?}, so the call did not run.",
                tool.label
            ),
        )),
        Guarded::Cancelled => Err(super::execute::cancelled()),
    }
}
