//! `tollgate explain`: what would happen to a call, and why. Runs nothing.

use crate::{
    args::{Explain, Shared},
    commands::jsonl,
    exit::{Exit, Fault},
    input::propose,
    mocks::Wanted,
    words,
    world::World,
};

pub(crate) fn run(explain: &Explain, shared: &Shared) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    runtime.block_on(async {
        match (&explain.jsonl, &explain.tool) {
            (Some(file), _) => {
                let world = World::build(shared, Wanted::All)?;
                words::set_aside(&world.loaded);
                jsonl::run(file, &world).await
            }
            (None, tool) => one(tool.as_deref().unwrap_or_default(), explain.input.as_deref(), shared).await,
        }
    })
}

async fn one(tool: &str, input: Option<&str>, shared: &Shared) -> Result<Exit, Fault> {
    let proposed = propose("call_1", tool, input)?;
    let world = World::build(shared, Wanted::Tool(tool))?;
    words::set_aside(&world.loaded);
    let explanation = world.gate.explain(&world.scope, proposed).await;
    if shared.json {
        words::data(&words::json(&explanation))?;
    } else {
        words::data(&words::forecast(&explanation, &world))?;
    }
    // The question is answered, whatever the answer is.
    Ok(Exit::Done)
}
