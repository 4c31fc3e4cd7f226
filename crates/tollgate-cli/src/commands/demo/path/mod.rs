//! `tollgate demo path`: four short turns of a model, walked through the real path on mock tools.

use std::{sync::Arc, time::Instant};

use tollgate::{
    Registry, Scope, Settled, Tollgate,
    event::EventRecord,
    guard::{Run, Workspace},
    policy::Rules,
    testing::Mocks,
};

use crate::{
    args::{Demo, Environment, Shared},
    events::Writer,
    exit::{Exit, Fault},
    words,
    world::concurrency,
};

mod script;
mod hook;
mod picture;
mod told;

use script::{SCENES, Scene};

/// The tools of the demonstration. Nothing on the machine is touched by them.
const TOOLS: &str = include_str!("../../../../demo/path.json");

/// More events than the whole demonstration has.
const EVENTS: usize = 1_000;

pub(super) fn run(demo: &Demo, shared: &Shared) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let shown = runtime.block_on(show(demo, shared));
    runtime.shutdown_background();
    shown
}

async fn show(demo: &Demo, shared: &Shared) -> Result<Exit, Fault> {
    let gate = gate()?;
    let writer = demo.events.then(|| Writer::start(&gate));
    let workspace = Workspace::new("/demo");
    let run = Run::new("demo");
    if !shared.json {
        words::data(script::OPENING)?;
    }
    for (turn, scene) in (1..).zip(&SCENES) {
        let mut scope = Scope::new(run.clone(), workspace.clone());
        scope.turn = turn;
        let played = play(&gate, &Arc::new(scope), scene).await;
        if shared.json {
            for settled in &played.answers {
                words::data(&words::json(settled))?;
            }
        } else {
            words::data(&told::scene(turn, scene, &played))?;
        }
    }
    if let Some(writer) = writer {
        writer.finish();
    }
    if !shared.json {
        words::data(script::CLOSING)?;
    }
    Ok(Exit::Done)
}

/// What came of one turn.
struct Played {
    answers: Vec<Settled>,
    events: Vec<EventRecord>,
    took_ms: u128,
}

async fn play(gate: &Tollgate, scope: &Arc<Scope>, scene: &Scene) -> Played {
    let mut observed = gate.observe(EVENTS);
    let began = Instant::now();
    let answers = gate.turn(scope).run(scene.proposed()).await;
    let took_ms = began.elapsed().as_millis();
    let events = observed.records();
    Played { answers, events, took_ms }
}

fn gate() -> Result<Tollgate, Fault> {
    let broken =
        |what: &str| Fault::usage(format!("the demonstration is broken: {what}"), "please report it.");
    let (registry, aside) =
        Mocks::parse(TOOLS).map_err(|error| broken(&error.to_string()))?.register(Registry::new());
    if let Some(aside) = aside.first() {
        return Err(broken(&aside.to_string()));
    }
    let mut rules = Rules::new();
    for (decision, tool) in script::RULES {
        rules = rules.rule(decision, tool, "demo").map_err(|error| broken(&error.to_string()))?;
    }
    let cap = concurrency(&Environment::read())?;
    Ok(Tollgate::builder(registry).policy(rules).hook(hook::AtMostFifty).max_concurrency(cap).build())
}
