//! `tollgate call`: one call walks the whole path, and its one answer is printed.

use serde_json::Value;
use tollgate::{
    Proposed, Settled,
    outcome::RefusalCode,
    policy::{Query, RuleRef},
};

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
        let again = (!world.config.loaded.inert.is_empty()).then(|| proposed.clone());
        let (settled, interrupted) = walk(&world, proposed).await;
        if let Some(events) = events {
            events.finish();
        }
        let inert = inert(&settled, again, &world).await;
        servers.upstreams.close().await;
        Ok((world, settled, inert, interrupted))
    });
    // A body that will not stop does not keep the program: its call is answered.
    runtime.shutdown_background();
    let (world, settled, inert, interrupted) = walked?;
    let told = tell(&settled, inert.as_ref(), &world, shared);
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

/// The rule that would have let a call run that needs a yes, were the project's file it stands in trusted.
async fn inert(settled: &Settled, proposed: Option<Proposed>, world: &World) -> Option<RuleRef> {
    settled.refusal().filter(|refusal| refusal.code == RefusalCode::ApprovalRequired)?;
    let proposed = proposed?;
    let args = serde_json::from_str::<Value>(proposed.input.as_str()).ok()?;
    let explanation = world.gate.explain(&world.scope, proposed).await;
    let tool = world.spec(&explanation.tool)?;
    world.config.inert_rule(&Query::new(tool, &args, &explanation.effects, &world.scope))
}

fn tell(settled: &Settled, inert: Option<&RuleRef>, world: &World, shared: &Shared) -> Result<(), Fault> {
    if !shared.json {
        return words::answer(settled, inert, world);
    }
    if let Some(rule) = inert {
        words::talk(&format!("note: {}", words::trusting(rule)));
    }
    if settled.refusal().is_some() && world.loaded.is_empty() {
        words::talk(&format!("note: {}", words::no_tools(&world.loaded)));
    }
    words::data(&words::json(settled))
}
