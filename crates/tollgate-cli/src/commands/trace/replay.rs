//! `tollgate trace replay`: what today's tools and rules would say to the calls of a recorded run. Runs nothing.

use serde_json::{Value, json};
use tollgate::{Foreseen, Proposed};
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

async fn one(world: &World, call: &CallTrace) -> Value {
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
    let explanation = world.gate.explain(&world.scope, Proposed::new(&call.id, &call.tool, input)).await;
    let now = match explanation.status {
        Foreseen::Ok => "allow",
        Foreseen::Ask => "ask",
        Foreseen::Refused => "refused",
    };
    let why = explanation.reason.unwrap_or_default();
    json!({"call": call.id, "tool": call.tool, "then": then, "now": now, "changed": then != now, "why": why})
}

fn told(line: &Value) -> String {
    let word = |field: &str| words::visible(line[field].as_str().unwrap_or_default());
    let mark = if line["changed"] == true { "≠" } else { " " };
    format!(
        "{mark} {}  {}  then {}, now {}  {}",
        word("call"),
        word("tool"),
        word("then"),
        word("now"),
        word("why")
    )
}
