//! What would happen to a call, and why, without anything happening.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    call::{Call, Proposed, Refused},
    event::Events,
    outcome::{Phase, RefusalCode},
    pipeline::Pipeline,
    policy::{Decision, RuleRef},
    tool::{CallId, Effects, Scope},
};

/// What would happen to one call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The call's id.
    pub id: CallId,
    /// The tool as resolved; the name as proposed where nothing was.
    pub tool: Arc<str>,
    /// `ok` when it would run, `refused` when it would not, `ask` when a person would be asked.
    pub status: Foreseen,
    /// The phase that says so.
    pub phase: Phase,
    /// Why it would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<RefusalCode>,
    /// What it would do; the worst where the arguments could not be read.
    pub effects: Effects,
    /// What policy says.
    pub decision: Decision,
    /// By which rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What would make it acceptable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The hooks that would look at it, in order. None of them was run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
}

/// How a call would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Foreseen {
    /// It would run.
    Ok,
    /// A person would be asked.
    Ask,
    /// It would be refused.
    Refused,
}

pub(crate) async fn explain(pipeline: &Pipeline, scope: &Arc<Scope>, proposed: Proposed) -> Explanation {
    // Observed by nobody: an explanation leaves no trace.
    let call = Call::propose(proposed, 0, scope, &Events::default());
    let valid = match pipeline.begin(call) {
        Ok(valid) => valid,
        Err(refused) => return Explanation::refused(&refused, Effects::worst()),
    };
    let effects = valid.invocation().effects().clone();
    let checked = match valid.check(&*pipeline.policy).await {
        Ok(checked) => checked,
        Err(refused) => return Explanation::refused(&refused, effects),
    };
    let hooks = pipeline.hooks.matching(checked.invocation().tool());
    let foreseen = checked.foresee(&*pipeline.policy, &pipeline.guards.breakers);
    let explanation = match foreseen {
        Ok((tool, verdict)) => Explanation {
            id: verdict.0,
            tool,
            status: if verdict.1.decision == Decision::Allow { Foreseen::Ok } else { Foreseen::Ask },
            phase: if verdict.1.decision == Decision::Allow { Phase::Execute } else { Phase::Permit },
            code: (verdict.1.decision == Decision::Ask).then_some(RefusalCode::ApprovalRequired),
            effects,
            decision: verdict.1.decision,
            rule: verdict.1.rule,
            reason: verdict.1.reason.map(|reason| reason.to_string()),
            hint: None,
            hooks: Vec::new(),
        },
        Err(refused) => Explanation::refused(&refused, effects),
    };
    Explanation { hooks, ..explanation }
}

impl Explanation {
    fn refused(refused: &Refused, effects: Effects) -> Self {
        let refusal = refused.refusal();
        Self {
            id: refused.id().clone(),
            tool: refused.tool().clone(),
            status: Foreseen::Refused,
            phase: refused.phase(),
            code: Some(refusal.code),
            effects,
            decision: Decision::Deny,
            rule: refusal.rule.clone(),
            reason: Some(refusal.reason.clone()),
            hint: refusal.hint.clone(),
            hooks: Vec::new(),
        }
    }
}
