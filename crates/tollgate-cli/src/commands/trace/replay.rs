//! `tollgate trace replay`: one recorded run again, call by call, as today's tools and rules would take it. Runs
//! nothing. `tollgate policy replay` looks at many runs, and tells what changed.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate::{
    Foreseen, Proposed,
    tool::{Caller, Route},
};
use tollgate_store::{CallTrace, RunTrace, Store};

use super::meant;
use crate::{
    args::{Shared, TraceReplay},
    exit::{Exit, Fault},
    mocks::Wanted,
    store, words,
    world::World,
};

pub(crate) fn run(replay: &TraceReplay, shared: &Shared, store: &Store) -> Result<Exit, Fault> {
    let run = meant(store, replay.run.as_deref())?;
    let entries = store.journal(&run, 0).map_err(|error| store::fault(&error))?;
    let tree = RunTrace::of(&run, &entries);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let lines = runtime.block_on(async {
        let world = World::build(shared, Wanted::All)?;
        let mut lines = Vec::new();
        for call in &tree.calls {
            lines.push(one(&world, call).await);
        }
        Ok::<_, Fault>(lines)
    })?;
    let changed = lines.iter().filter(|line| line["changed"] == true).count();
    for line in &lines {
        words::data(&if shared.json { line.to_string() } else { told(line) })?;
    }
    words::talk(&format!("{changed} of {} calls would be decided differently.", lines.len()));
    Ok(Exit::Done)
}

/// One call, as today's tools and rules would take it from whoever proposed it, on its route.
pub(crate) async fn one(world: &World, call: &CallTrace) -> Value {
    // Answers of tools do not matter here: only whether the call would be let through.
    let then = match (call.status(), call.answer["code"].as_str()) {
        ("refused", Some("approval_required")) => "ask",
        ("refused", _) => "refused",
        _ => "allow",
    };
    let input = match &call.input {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut scope = (*world.scope).clone();
    scope.caller = Caller::new(&call.caller);
    scope.route = call.route.as_ref().map(Route::new);
    let secret = input.contains("[redacted: ");
    let explanation = world.gate.explain(&Arc::new(scope), Proposed::new(&call.id, &call.tool, input)).await;
    let now = match explanation.status {
        Foreseen::Ok => "allow",
        Foreseen::Ask => "ask",
        Foreseen::Refused => "refused",
    };
    let why = explanation.reason.unwrap_or_default();
    let mut line = json!({
        "call": call.id, "tool": call.tool, "then": then, "now": now, "changed": then != now, "why": why,
    });
    if secret {
        // What was redacted is not known any more; a rule about it may have said something else.
        line["inexact"] = true.into();
    }
    line
}

pub(crate) fn told(line: &Value) -> String {
    let word = |field: &str| words::visible(line[field].as_str().unwrap_or_default());
    let mark = if line["changed"] == true { "≠" } else { " " };
    let run = line["run"].as_str().map_or(String::new(), |run| format!("{}  ", words::visible(run)));
    let inexact = if line["inexact"] == true { " (its secrets are not recorded)" } else { "" };
    format!(
        "{mark} {run}{}  {}  then {}, now {}{inexact}  {}",
        word("call"),
        word("tool"),
        word("then"),
        word("now"),
        word("why")
    )
}
