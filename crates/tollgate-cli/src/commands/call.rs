//! `tollgate call`: one call walks the whole path, and its one answer is printed.

use tollgate::{Proposed, Settled};

use crate::{
    args::{Call, Shared},
    events::Writer,
    exit::{Exit, Fault},
    input::propose,
    mocks::Wanted,
    servers::{self, Servers},
    stop, words,
    world::World,
};

pub(crate) fn run(call: &Call, shared: &Shared) -> Result<Exit, Fault> {
    let tool = servers::label(&call.tool);
    let mut proposed = propose(&call.id, &tool, call.input.as_deref())?;
    if let Some(key) = &call.idempotency_key {
        proposed = proposed.with_key(key);
    }
    // Bodies wait without blocking and have threads of their own for what does: one thread holds the call and its
    // deadlines, and starting more would take as long as the whole rest.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let walked = runtime.block_on(async {
        let mut world = World::build(shared, Wanted::Tool(&tool))?;
        words::set_aside(&world.loaded);
        let servers = Servers::join(shared, &mut world, &[&tool]).await?;
        world.recorder.watch(&world.gate);
        let events = call.events.then(|| Writer::start(&world.gate));
        let (settled, interrupted) = walk(&world, proposed).await;
        if let Some(events) = events {
            events.finish();
        }
        servers.upstreams.close().await;
        Ok((world, settled, interrupted))
    });
    // A body that will not stop does not keep the program: its call is answered.
    runtime.shutdown_background();
    let (world, settled, interrupted) = walked?;
    let told = tell(&settled, &world, shared);
    world.recorder.finish(&world.scope.run, world.scope.turn, std::slice::from_ref(&settled));
    told?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::of(&settled, shared.on_ask) })
}

/// The answer, and whether a person stopped the call on its way. Stopped or not, it is answered.
async fn walk(world: &World, proposed: Proposed) -> (Settled, bool) {
    let mut walk = std::pin::pin!(world.gate.call(&world.scope, proposed));
    tokio::select! {
        biased;
        settled = &mut walk => return (settled, false),
        () = stop::wished() => world.scope.run.token().cancel(),
    }
    (walk.await, true)
}

fn tell(settled: &Settled, world: &World, shared: &Shared) -> Result<(), Fault> {
    if !shared.json {
        return words::answer(settled, world);
    }
    if settled.refusal().is_some() && world.loaded.is_empty() {
        words::talk(&format!("note: {}", words::no_tools(&world.loaded)));
    }
    words::data(&words::json(settled))
}
