//! `tollgate explain`: what would happen to a call, and why. Runs nothing.

use serde_json::Value;
use tollgate::{
    Explanation, Foreseen,
    policy::{Query, reaches, rules_that_allow},
};

use crate::{
    args::{Explain, Shared},
    commands::jsonl,
    exit::{Exit, Fault},
    input::propose,
    mocks::Wanted,
    servers::{self, Servers},
    words::{self, Ways},
    world::World,
};

pub(crate) fn run(explain: &Explain, shared: &Shared) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    runtime.block_on(async {
        match (&explain.jsonl, &explain.tool) {
            (Some(file), _) => {
                let mut world = World::build(shared, Wanted::All)?;
                words::set_aside(&world.loaded);
                words::inert(&world.config);
                // Lines are read one by one: what is pinned is known, and no server is started for it.
                let servers = Servers::join(shared, &mut world, &[]).await?;
                jsonl::run(file, &world, &servers).await
            }
            (None, tool) => {
                let tool = tool.as_deref().unwrap_or_default();
                if explain.more.is_empty() {
                    one(tool, explain.input.as_deref(), shared).await
                } else {
                    several(tool, explain, shared).await
                }
            }
        }
    })
}

async fn one(tool: &str, input: Option<&str>, shared: &Shared) -> Result<Exit, Fault> {
    let tool = &*servers::label(tool);
    let proposed = propose("call_1", tool, input)?;
    let mut world = World::build(shared, Wanted::Tool(tool))?;
    words::set_aside(&world.loaded);
    // What is pinned is known; nothing is started to explain a call.
    let servers = Servers::join(shared, &mut world, &[]).await?;
    words::inert(&world.config);
    let text = proposed.input.as_str().to_owned();
    let explanation = servers.explained(world.gate.explain(&world.scope, proposed).await);
    if shared.json {
        words::data(&words::json(&explanation))?;
    } else {
        let ways = ways(&explanation, &text, &world, &servers);
        words::data(&words::forecast(&explanation, &ways, &world))?;
    }
    // The question is answered, whatever the answer is.
    Ok(Exit::Done)
}

/// Several calls of one turn, and how they would be batched.
async fn several(tool: &str, explain: &Explain, shared: &Shared) -> Result<Exit, Fault> {
    if !explain.more.len().is_multiple_of(2) {
        let message = "the last tool has no arguments beside it";
        return Err(Fault::usage(message, "give each tool its arguments, `{}` where it takes none."));
    }
    let mut world = World::build(shared, Wanted::All)?;
    words::set_aside(&world.loaded);
    words::inert(&world.config);
    let labels: Vec<_> = explain.more.chunks(2).map(|pair| servers::label(&pair[0])).collect();
    let tool = servers::label(tool);
    let servers = Servers::join(shared, &mut world, &[]).await?;
    let first = [&*tool, explain.input.as_deref().unwrap_or("{}")];
    let pairs = explain.more.chunks(2).zip(&labels).map(|(pair, label)| [label.as_str(), pair[1].as_str()]);
    let mut explanations = Vec::new();
    for (at, [tool, input]) in (1..).zip(std::iter::once(first).chain(pairs)) {
        let proposed = propose(&format!("call_{at}"), tool, Some(input))?;
        let explanation = servers.explained(world.gate.explain(&world.scope, proposed).await);
        if shared.json {
            words::data(&words::json(&explanation))?;
        } else {
            let ways = ways(&explanation, input, &world, &servers);
            words::data(&format!("call_{at}: {}", words::forecast(&explanation, &ways, &world)))?;
        }
        explanations.push(explanation);
    }
    if !shared.json {
        words::data(&words::plan(&explanations))?;
    }
    Ok(Exit::Done)
}

/// The rules that would let a call run that asks, the narrowest first, and what makes a server's tool known.
fn ways(explanation: &Explanation, input: &str, world: &World, servers: &Servers) -> Ways {
    let args = serde_json::from_str::<Value>(input);
    match (explanation.status, world.spec(&explanation.tool), args) {
        (Foreseen::Ask, Some(tool), Ok(args)) => {
            let query = Query::new(tool, &args, &explanation.effects, &world.scope);
            Ways {
                reaches: reaches(&query),
                allow: rules_that_allow(&query),
                server: None,
                inert: world.config.inert_rule(&query),
            }
        }
        _ => Ways { server: servers.hint_about(&explanation.tool), ..Ways::default() },
    }
}
