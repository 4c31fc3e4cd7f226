//! `tollgate trace replay`: one recorded run again, call by call, as today's tools and rules would take it. Runs
//! nothing. `tollgate policy replay` looks at many runs, and tells what changed.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate::{
    Explanation, Foreseen, Proposed,
    outcome::RefusalCode,
    tool::{Caller, Route},
};
use tollgate_store::{CallTrace, RunTrace, Store};

use super::meant;
use crate::{
    args::{Shared, TraceReplay},
    exit::{Exit, Fault},
    mocks::Wanted,
    run::{settings::Settings, shown_desk},
    servers::Servers,
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
        let world = today(shared).await?;
        let mut lines = Vec::new();
        for call in &tree.calls {
            lines.push(one(&world, call).await);
        }
        Ok::<_, Fault>(lines)
    })?;
    let mut sum = Sum::default();
    for line in &lines {
        sum.add(line);
        words::data(&if shared.json { line.to_string() } else { told(line) })?;
    }
    words::talk(&format!(
        "{} of {} calls would be decided differently.{}",
        sum.changed,
        sum.calls,
        sum.unjudged()
    ));
    Ok(Exit::Done)
}

/// What lines of a replay add up to.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    pub(crate) calls: usize,
    pub(crate) changed: usize,
    apart: usize,
}

impl Sum {
    pub(crate) fn add(&mut self, line: &Value) {
        self.calls += 1;
        self.changed += usize::from(line["changed"] == true);
        self.apart += usize::from(line["judged"] == false);
    }

    /// How many nobody can tell anything of, where there are any.
    pub(crate) fn unjudged(&self) -> String {
        match self.apart {
            0 => String::new(),
            apart => format!(" {apart} cannot be judged here."),
        }
    }
}

/// Today's tools and rules, with what agents are shown and the servers' tools as they are pinned. No server is started.
pub(crate) async fn today(shared: &Shared) -> Result<World, Fault> {
    let mut world = World::build(shared, Wanted::All)?;
    let _servers = Servers::join(shared, &mut world, &[]).await?;
    let desk = shown_desk(&Settings::load(&world.config.loaded)?);
    let registry = world.loaded.registry.clone();
    // A mock may have the name of one of the agent's own tools, and stands for it then.
    let registry = desk.register(registry.clone()).or_else(|_| desk.routes(registry)).map_err(|error| {
        Fault::usage(format!("a role cannot be used: {error}"), "correct the role in tollgate.toml.")
    })?;
    world.gate.replace(registry.clone());
    world.loaded.registry = registry;
    Ok(world)
}

/// One call, as today's tools and rules would take it from whoever proposed it, on its route.
pub(crate) async fn one(world: &World, call: &CallTrace) -> Value {
    let input = match &call.input {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut scope = (*world.scope).clone();
    scope.caller = Caller::new(&call.caller);
    scope.route = call.route.as_ref().map(Route::new);
    scope.reading_only = call.route.as_ref().is_some_and(|route| route.ends_with("/plan"));
    let secret = input.contains("[redacted: ");
    let mut proposed = Proposed::new(&call.id, &call.tool, input);
    if let Some(key) = &call.key {
        proposed = proposed.with_key(key);
    }
    let explanation = world.gate.explain(&Arc::new(scope), proposed).await;
    let now = match explanation.status {
        Foreseen::Ok => "allow",
        Foreseen::Ask => "ask",
        Foreseen::Refused => "refused",
    };
    let then = then(call);
    let judged = then.is_some_and(|then| then == now || !is_gone(world, call, &explanation));
    let mut line = json!({
        "call": call.id, "tool": call.tool, "then": then.unwrap_or("stopped"), "now": now,
        "changed": judged && then != Some(now), "reason": why(&explanation),
    });
    if !judged {
        line["judged"] = false.into();
    }
    if secret {
        // What was redacted is not known any more; a rule about it may have said something else.
        line["inexact"] = true.into();
    }
    line
}

/// What was decided about the call. Answers of tools do not matter here, and `None` is one that was stopped by what no
/// rule says: a person's Ctrl-C, a budget, a breaker, a hook.
fn then(call: &CallTrace) -> Option<&'static str> {
    let asked = call.steps.iter().any(|step| step["event"] == "asked");
    let by_person = |by: &str| by.starts_with("a person") || by.starts_with("an earlier approval");
    if asked || call.by.as_deref().is_some_and(by_person) {
        return Some("ask");
    }
    match (call.status(), call.answer["code"].as_str().unwrap_or_default()) {
        ("refused", "approval_required") => Some("ask"),
        (
            "refused",
            "cancelled"
            | "circuit_open"
            | "budget_exhausted"
            | "repetition"
            | "requires_interaction"
            | "blocked_by_hook"
            | "rewrite_limit"
            | "idempotency_conflict"
            | "sandbox_unavailable"
            | "protocol_error"
            | "internal",
        ) => None,
        ("refused", _) => Some("refused"),
        ("open", _) if call.by.is_none() => None,
        _ => Some("allow"),
    }
}

/// True where the tool, or the role whose tools it was among, is not there any more: no rule says anything of that.
fn is_gone(world: &World, call: &CallTrace, explanation: &Explanation) -> bool {
    match explanation.code {
        Some(RefusalCode::UnknownTool | RefusalCode::NotEnabled) => true,
        Some(RefusalCode::NotDisclosed) => {
            let route = call.route.as_ref().map(Route::new);
            route.is_some_and(|route| world.loaded.registry.route_tools(&route).is_none())
        }
        _ => false,
    }
}

fn why(explanation: &Explanation) -> String {
    let rule = || explanation.rule.as_ref().map(|rule| format!("{} ({})", rule.text, rule.source));
    let silent = || (explanation.status == Foreseen::Ok).then(|| "no rule asks about it".to_owned());
    explanation.reason.clone().or_else(rule).or_else(silent).unwrap_or_default()
}

pub(crate) fn told(line: &Value) -> String {
    let word = |field: &str| words::visible(line[field].as_str().unwrap_or_default());
    let run = line["run"].as_str().map_or(String::new(), |run| format!("{}  ", words::visible(run)));
    let inexact = if line["inexact"] == true { " (its secrets are not recorded)" } else { "" };
    let (mark, now) = match (&line["changed"], &line["judged"]) {
        (_, Value::Bool(false)) => ("?", "cannot be judged here".to_owned()),
        (Value::Bool(true), _) => ("≠", format!("now {}", word("now"))),
        _ => (" ", format!("now {}", word("now"))),
    };
    format!(
        "{mark} {run}{}  {}  then {}, {now}{inexact}  {}",
        word("call"),
        word("tool"),
        word("then"),
        word("reason")
    )
}
