//! What a command hook reads on its stdin: the call, as one JSON object.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use tollgate::{
    Effects, Scope,
    hook::HookedCall,
    outcome::{Item, Outcome, Status},
    tool::Route,
};

/// The version of this form; it changes when a field changes its meaning.
const VERSION: u32 = 1;

/// The whole of what a hook is told.
#[derive(Debug, Serialize)]
pub(super) struct Question<'a> {
    version: u32,
    phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    tool: String,
    args: &'a Value,
    effects: &'a Effects,
    scope: ScopeTold<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeTold<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    probe: bool,
}

#[derive(Debug, Serialize)]
struct ScopeTold<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    caller: &'a str,
    goal: Option<&'a str>,
    route: Option<&'a str>,
    cwd: &'a Path,
    roots: &'a [PathBuf],
    interactive: bool,
}

#[derive(Debug, Serialize)]
struct OutcomeTold<'a> {
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a [Item]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// About a call on its way; with its outcome where it ran.
    pub(super) fn about(call: &HookedCall<'a>, outcome: Option<&'a Outcome>) -> Self {
        Self {
            version: VERSION,
            phase: if outcome.is_some() { "after" } else { "before" },
            call: Some(call.id.as_str()),
            tool: call.tool.id.to_string(),
            args: call.args,
            effects: call.effects,
            scope: ScopeTold::of(call.scope),
            outcome: outcome.map(OutcomeTold::of),
            probe: false,
        }
    }

    /// About a call that will never be: for trying out whether the hook answers at all.
    pub(super) fn probe(phase: &'static str, args: &'a Value, effects: &'a Effects, cwd: &'a Path) -> Self {
        let done = OutcomeTold { status: Status::Ok, output: Some(&[]), message: None };
        Self {
            version: VERSION,
            phase,
            call: Some("probe"),
            tool: "tollgate_probe".to_owned(),
            args,
            effects,
            scope: ScopeTold {
                run: Some("probe"),
                turn: Some(0),
                caller: "doctor",
                goal: None,
                route: None,
                cwd,
                roots: &[],
                interactive: false,
            },
            outcome: (phase == "after").then_some(done),
            probe: true,
        }
    }

    /// As the hook reads it.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// What two calls share that are the same to a hook: everything but which call of which run they are.
    pub(super) fn sameness(mut self) -> Result<Value, serde_json::Error> {
        self.call = None;
        self.scope.run = None;
        self.scope.turn = None;
        serde_json::to_value(self)
    }
}

impl<'a> ScopeTold<'a> {
    fn of(scope: &'a Scope) -> Self {
        Self {
            run: Some(scope.run.id().as_str()),
            turn: Some(scope.turn),
            caller: scope.caller.as_str(),
            goal: scope.goal.as_deref(),
            route: scope.route.as_ref().map(Route::as_str),
            cwd: scope.cwd(),
            roots: scope.roots(),
            interactive: scope.interactive,
        }
    }
}

impl<'a> OutcomeTold<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        let (output, message) = match outcome {
            Outcome::Ok(output) => (Some(&output.items[..]), None),
            Outcome::Failed(failure) => (None, Some(failure.message.as_str())),
            Outcome::Refused(refusal) => (None, Some(refusal.reason.as_str())),
        };
        Self { status: outcome.status(), output, message }
    }
}
