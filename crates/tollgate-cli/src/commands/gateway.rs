//! What `mcp` and `serve` have in common: a world whose questions go to the clients, and the gateway in front of it.

use std::{sync::Arc, time::Duration};

use tollgate::{Registry, outcome::FolderResults, policy::Desk};
use tollgate_mcp::gateway::{Asking, Gateway, Settings};
use tollgate_store::ResultRead;

use crate::{
    args::{Environment, OnAsk, Shared, Shown},
    builtins::READER,
    exit::Fault,
    mocks::Wanted,
    servers::{Servers, tell_set_aside},
    words,
    world::{self, World},
};

/// The tools, the servers some of them are of, and the gateway in front of all.
pub(super) struct Served {
    pub(super) world: World,
    pub(super) gateway: Gateway,
    servers: Servers,
}

impl Served {
    /// Builds both. Inside a runtime, so that bodies run on tasks of it.
    pub(super) async fn build(shared: &Shared, shown: &Shown) -> Result<Self, Fault> {
        let environment = Environment::read();
        // A person is there when a client can show a form; the gateway says so call by call.
        let (mut world, asking) =
            World::build_asking(shared, Wanted::All, |desk| asking(shared, shown, desk))?;
        words::set_aside(&world.loaded);
        world.loaded.registry = with_results(world.loaded.registry.clone(), shared, &environment)?;
        let servers = Servers::load(shared, &world.config, &world.scope)?;
        servers.start().await;
        world.loaded.registry = servers.knowing_inert(world.loaded.registry.clone());
        tell_set_aside(servers.upstreams.apply(&world.gate, &world.loaded.registry).iter());
        world.recorder.watch(&world.gate);
        let mut settings = Settings::default();
        settings.threshold = shown.search_over;
        settings.plain_names = shown.plain_names;
        let gateway = Gateway::new(world.gate.clone(), (*world.scope).clone(), asking, settings);
        let served = Self { world, gateway, servers };
        served.follow_changes();
        Ok(served)
    }

    /// Tools that come, go or change are offered as they are from then on, and clients are told.
    fn follow_changes(&self) {
        let (gateway, gate) = (self.gateway.clone(), self.world.gate.clone());
        let base = self.world.loaded.registry.clone();
        let mut told = gateway.tools();
        self.servers.follow(move |upstreams| {
            upstreams.apply(&gate, &base);
            let now = gateway.tools();
            if now != told {
                told = now;
                gateway.tools_changed();
            }
        });
    }

    /// How many tools there are.
    pub(super) fn tools(&self) -> usize {
        self.world.gate.snapshot().reachable(self.world.scope.route.as_ref()).count()
    }

    /// Ends the servers, and writes down what is left.
    pub(super) async fn finish(&self) {
        self.servers.upstreams.close().await;
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
fn with_results(registry: Registry, shared: &Shared, environment: &Environment) -> Result<Registry, Fault> {
    let (Some(folder), Some(spawner)) =
        (world::results_folder(shared, environment), tollgate::guard::TokioSpawner::current())
    else {
        return Ok(registry);
    };
    if registry.specs().any(|spec| spec.name() == READER) {
        return Ok(registry);
    }
    registry.with(ResultRead::new(FolderResults::new(folder, Arc::new(spawner)))).map_err(|error| {
        Fault::input(format!("`result_read` cannot be offered: {error}"), "please report this.")
    })
}
