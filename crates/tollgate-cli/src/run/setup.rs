//! Everything a run is made of: files, model, gate, desk, limits; put together once, from what was given.

use std::sync::{Arc, OnceLock};

use tollgate::{Registry, tool::RunId};
use tollgate_agent::{
    Agent, AgentBuilder, Desk, DeskBuilder, DeskError, Limits, Person, Role as AgentRole, Stopped, Teller,
    model::{ErrorKind, Model, ModelError},
    provider::Streaming,
    session::{SessionFolder, Summary},
};

use tollgate_mcp::{Upstreams, bridge::Registered};

use super::{
    args::Run,
    instructions::{self, Instructions},
    model::{self, Reach},
    outcome,
    person::AtTheTerminal,
    sessions,
    settings::{Budget, Role, Settings},
    system,
};
use crate::{
    args::{Environment, OnAsk, Shared},
    config::Config,
    exit::{Exit, Fault},
    mocks::Wanted,
    servers::{self, Servers, tell_set_aside},
    words,
    world::{self, World},
};

/// What a run is made of.
pub(crate) struct Setup {
    pub(crate) world: World,
    pub(crate) desk: Desk,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) environment: Environment,
    pub(crate) settings: Settings,
    pub(crate) instructions: Instructions,
    pub(crate) sessions: Option<Arc<SessionFolder>>,
    /// The session that is taken up.
    pub(crate) taken_up: Option<Summary>,
    reach: Arc<Reach>,
    role: Option<String>,
    limits: Limits,
    plan: bool,
}

impl Setup {
    /// Reads and builds everything, or says what is wrong. Inside a runtime.
    pub(crate) fn new(args: &Run, shared: &Shared) -> Result<Self, Fault> {
        let environment = Environment::read();
        let working = world::working_folder(&world::roots(shared)?);
        let config = Config::load(shared, &environment, &working)?;
        let settings = Settings::load(&config.loaded)?;
        for inert in &settings.inert {
            words::talk(&format!("note: {}", words::visible(inert)));
        }
        let sessions = sessions::folder(shared, &environment);
        let taken_up = match (args.taken_up(), &sessions) {
            (None, _) => None,
            (Some(given), Some(folder)) => Some(sessions::find(folder, given, &working)?),
            (Some(_), None) => {
                let hint = "leave --no-store out, and set HOME or TOLLGATE_HOME.";
                return Err(Fault::usage("no session is kept here, so there is none to resume", hint));
            }
        };
        let before = taken_up.as_ref().map(|session| &session.header);
        let role = args.role.as_ref().or(before.and_then(|before| before.role.as_ref()));
        let role = role.or(settings.role.as_ref()).cloned();
        let of_role = role.as_deref().map(|name| known(&settings, name)).transpose()?;
        let streaming = if args.no_stream { Streaming::Off } else { Streaming::On };
        let reach = Arc::new(Reach::new(&environment, &settings, &working, streaming, args.retries)?);
        let given = environment.variable("TOLLGATE_MODEL").and_then(|name| name.to_str());
        let said = [
            args.model.as_deref(),
            given,
            before.map(|before| &*before.model),
            of_role.and_then(|role| role.model.as_deref()),
            settings.model.as_deref(),
        ];
        let model = reach.model(&model::chosen(&said, &environment)?)?;
        let model = reach.recorded(model, args.record.as_deref())?;
        let budget = Budget::from(args.limits).and(settings.limits);
        let budget = budget.and(of_role.map_or_else(Budget::default, |role| role.limits));
        if budget.microdollars.is_some() {
            // A sub-agent spends from the same purse.
            let roles = settings.roles.values().filter_map(|role| role.model.as_deref());
            [model.priced_as()].into_iter().chain(roles).try_for_each(|name| reach.must_be_priced(name))?;
        }
        let limits = Limits { retries: args.retries.min(2), ..limits(budget, shared) };
        let plan = args.plan || settings.plan;
        let terminal = Arc::new(OnceLock::new());
        let desk = desk(&settings, &reach, Arc::new(Someone(terminal.clone())));
        let more = |registry: Registry| {
            desk.register(registry).map_err(|error| {
                let hint = match error {
                    DeskError::Tools { .. } | DeskError::Route { .. } => "correct the role in tollgate.toml.",
                    _ => "rename the mock of that name.",
                };
                Fault::usage(format!("the agent's own tools cannot be used: {error}"), hint)
            })
        };
        let world = World::build_with(shared, Wanted::All, more)?;
        if let Some(place) = &world.terminal {
            let _ = terminal.set(AtTheTerminal(place.clone()));
        }
        let instructions = if args.no_instructions {
            Instructions::default()
        } else {
            instructions::read(&working, environment.home.as_deref())
        };
        Ok(Self {
            world,
            desk,
            model,
            environment,
            settings,
            instructions,
            sessions,
            taken_up,
            reach,
            role,
            limits,
            plan,
        })
    }

    /// The MCP servers that are configured, their tools among those of the run from now on. Keep them as long as it runs.
    pub(crate) async fn servers(&self, args: &Run, shared: &Shared) -> Result<Servers, Fault> {
        let person = servers::person(&self.world, shared.json || args.print);
        let servers = Servers::load_asking(shared, &self.world.config, &self.world.scope, person)?;
        if servers.upstreams.is_empty() {
            servers.tell_trouble(|_| true);
            return Ok(servers);
        }
        servers.start().await;
        let (gate, desk) = (self.world.gate.clone(), self.desk.clone());
        let base = self.world.loaded.registry.clone();
        let offer = move |upstreams: &Upstreams| {
            let Registered { registry, set_aside } = upstreams.register(base.clone());
            desk.routes(registry).map(|registry| gate.replace(registry)).map(|()| set_aside)
        };
        let set_aside = offer(&servers.upstreams).map_err(|error| {
            Fault::usage(
                format!("the servers' tools cannot be offered: {error}"),
                "correct the role in tollgate.toml.",
            )
        })?;
        tell_set_aside(set_aside.iter());
        // What the roles say was read well just now, and does not change.
        servers.follow(move |upstreams| drop(offer(upstreams)));
        Ok(servers)
    }

    /// The agent, which tells `teller` what happens.
    pub(crate) fn agent(&self, teller: Teller) -> Agent {
        let scope = &self.world.scope;
        let of_role = self.role.as_ref().and_then(|name| self.settings.roles.get(name));
        let own = [
            self.settings.instructions.as_deref().unwrap_or_default(),
            of_role.and_then(|role| role.instructions.as_deref()).unwrap_or_default(),
        ];
        let system = system::text(scope.cwd(), scope.roots(), &own);
        let mut agent: AgentBuilder =
            Agent::builder(self.model.clone(), self.world.gate.clone(), (**scope).clone())
                .system(system)
                .limits(self.limits.clone())
                .price(self.reach.price())
                .events(teller)
                .desk(self.desk.clone())
                .plan(self.plan)
                .purpose(true)
                .durable_ledger(self.world.recorder.is_durable());
        if !self.instructions.text.is_empty() {
            let names: Vec<_> =
                self.instructions.files.iter().map(|(path, _)| path.display().to_string()).collect();
            agent = agent.context(self.instructions.text.clone(), names.join(", "));
        }
        if let Some(role) = &self.role {
            agent = agent.role(role);
        }
        if let Some(sessions) = &self.sessions {
            agent = agent.sessions(sessions.clone());
        }
        if let Some(results) = self.world.results() {
            agent = agent.results(Arc::new(results));
        }
        agent.build()
    }

    /// True where nothing came of a session that this run began, and nothing will: what the command line, the
    /// environment or a file says must be put right first, and then the task is given again.
    pub(crate) fn is_void(&self, stopped: &Stopped) -> bool {
        self.taken_up.is_none() && stopped.spent.turns == 0 && outcome::exit(&stopped.reason) == Exit::Usage
    }

    /// The id of the session: the one that is taken up, or a new one.
    pub(crate) fn id(&self) -> RunId {
        let before = self.taken_up.as_ref().map(|session| session.header.id.clone());
        before.unwrap_or_else(tollgate_agent::session::new_session_id)
    }
}

fn known<'a>(settings: &'a Settings, name: &str) -> Result<&'a Role, Fault> {
    settings.roles.get(name).ok_or_else(|| {
        let inert = settings.inert.iter().any(|told| told.contains(&format!("[roles.{name}]")));
        let names: Vec<_> = settings.roles.keys().map(String::as_str).collect();
        let hint = match (inert, names.is_empty()) {
            (true, _) => {
                "the project's own file defines it: read the file, then `tollgate trust`.".to_owned()
            }
            (false, true) => format!("write [roles.{name}] into tollgate.toml."),
            (false, false) => {
                format!("there are {}; or write [roles.{name}] into tollgate.toml.", names.join(", "))
            }
        };
        Fault::usage(format!("there is no role {name:?}"), hint)
    })
}

fn limits(budget: Budget, shared: &Shared) -> Limits {
    let usual = Limits::default();
    Limits {
        turns: budget.turns.or(usual.turns),
        calls: budget.calls,
        ms: budget.seconds.map(|seconds| seconds.saturating_mul(1_000)),
        tokens: budget.tokens,
        microdollars: budget.microdollars,
        wait_for_person: matches!(shared.on_ask, Some(OnAsk::Fail | OnAsk::Park)),
        ..usual
    }
}

/// The agent's own tools, with every role it may send out.
fn desk(settings: &Settings, reach: &Arc<Reach>, person: Arc<dyn Person>) -> Desk {
    let reach = reach.clone();
    let desk = Desk::builder().person(person).models(Arc::new(move |name: &str| {
        reach
            .model(name)
            .map_err(|fault| ModelError::new(ErrorKind::BadName, fault.message).with_hint(fault.hint))
    }));
    with_roles(desk, settings)
}

/// The same with nobody to ask and no model to send to, for whoever only looks at what agents are shown.
pub(crate) fn shown_desk(settings: &Settings) -> Desk {
    with_roles(Desk::builder(), settings)
}

fn with_roles(mut desk: DeskBuilder, settings: &Settings) -> Desk {
    for (name, role) in &settings.roles {
        let usual = Limits::default();
        desk = desk.role(
            name,
            AgentRole {
                description: role.description.clone().unwrap_or_default(),
                model: role.model.clone(),
                instructions: role.instructions.clone().unwrap_or_default(),
                tools: role.tools.clone().unwrap_or_default(),
                route: role.route.clone(),
                limits: Limits {
                    turns: role.limits.turns.or(usual.turns),
                    calls: role.limits.calls,
                    ms: role.limits.seconds.map(|seconds| seconds.saturating_mul(1_000)),
                    tokens: role.limits.tokens,
                    microdollars: role.limits.microdollars,
                    ..usual
                },
            },
        );
    }
    desk.build()
}

/// Whoever sits at the terminal, once it is known whether anybody does.
struct Someone(Arc<OnceLock<AtTheTerminal>>);

impl Person for Someone {
    fn ask<'a>(&'a self, question: tollgate_agent::Inquiry<'a>) -> tollgate::BoxFuture<'a, Option<String>> {
        match self.0.get() {
            Some(person) => person.ask(question),
            None => Box::pin(std::future::ready(None)),
        }
    }
}
