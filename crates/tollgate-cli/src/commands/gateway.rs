//! What `mcp` and `serve` have in common: a world whose questions go to the clients, and the gateway in front of it.

use std::{sync::Arc, time::Duration};

use tollgate::{outcome::FolderResults, policy::Desk};
use tollgate_mcp::gateway::{Asking, Gateway, Settings};
use tollgate_store::ResultRead;

use crate::{
    args::{Environment, OnAsk, Shared, Shown},
    exit::Fault,
    mocks::Wanted,
    words,
    world::{self, World},
};

/// The tools, and the gateway in front of them.
pub(super) struct Served {
    pub(super) world: World,
    pub(super) gateway: Gateway,
}

impl Served {
    /// Builds both. Inside a runtime, so that bodies run on tasks of it.
    pub(super) fn build(shared: &Shared, shown: &Shown) -> Result<Self, Fault> {
        let environment = Environment::read();
        // A person is there when a client can show a form; the gateway says so call by call.
        let (world, asking) = World::build_asking(shared, Wanted::All, |desk| asking(shared, shown, desk))?;
        words::set_aside(&world.loaded);
        offer_results(&world, shared, &environment)?;
        world.recorder.watch(&world.gate);
        let mut settings = Settings::default();
        settings.threshold = shown.search_over;
        let gateway = Gateway::new(world.gate.clone(), (*world.scope).clone(), asking, settings);
        Ok(Self { world, gateway })
    }

    /// How many tools there are.
    pub(super) fn tools(&self) -> usize {
        self.world.gate.snapshot().reachable(self.world.scope.route.as_ref()).count()
    }

    /// Writes down what is left.
    pub(super) fn finish(&self) {
        self.world.recorder.finish(&self.world.scope.run, 0, &[]);
    }
}

fn asking(shared: &Shared, shown: &Shown, desk: Option<Arc<dyn Desk>>) -> Asking {
    let asking = match shared.on_ask {
        None => Asking::new().by_elicitation(),
        Some(OnAsk::Park | OnAsk::Deny | OnAsk::Fail) => Asking::new(),
    };
    match (shared.on_ask, desk) {
        (None | Some(OnAsk::Park), Some(desk)) => {
            asking.by_desk(desk, Duration::from_secs(shown.wait_for_approval))
        }
        _ => asking,
    }
}

/// Long results are put aside, so clients get the tool that reads them.
fn offer_results(world: &World, shared: &Shared, environment: &Environment) -> Result<(), Fault> {
    let registry = &world.loaded.registry;
    let (Some(folder), Some(spawner)) =
        (world::results_folder(shared, environment), tollgate::guard::TokioSpawner::current())
    else {
        return Ok(());
    };
    if registry.specs().any(|spec| spec.name() == "result_read") {
        return Ok(());
    }
    let results = FolderResults::new(folder, Arc::new(spawner));
    let with = registry.clone().with(ResultRead::new(results)).map_err(|error| {
        Fault::input(format!("`result_read` cannot be offered: {error}"), "please report this.")
    })?;
    world.gate.replace(with);
    Ok(())
}
