//! The MCP servers of all config files: those that may start, and those that do not until a person trusts their file.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tollgate::{
    Explanation, Registry, Scope,
    catalog::{Absent, lint::Declared},
    outcome::RefusalCode,
    policy::config::Trust,
};
use tollgate_mcp::{
    ServerConfig, Upstreams, Wanted, Wiring,
    bridge::{Health, LauncherOf, PinStore, ServerStatus, SetAside},
    client::Elicitor,
};
use tollgate_tools::process::{HostLauncher, Leash};

use crate::{
    approver::{Declined, Forms},
    args::{Environment, Shared},
    config::{self, Config},
    exit::Fault,
    held::Holding,
    mocks::Loaded,
    sandbox::Asked,
    words,
    world::World,
};

mod files;

use files::Found;
pub(crate) use files::{JSON_FILE, of_file, of_json};

/// How long nobody minds waiting.
const SOON: Duration = Duration::from_secs(1);

/// How long everybody waits for servers that are slow to start.
const START: Duration = Duration::from_secs(4);

/// Changes that come together are told together.
const TOGETHER: Duration = Duration::from_millis(100);

/// Every server that is configured.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Those that may start.
    pub(crate) upstreams: Upstreams,
    /// Those of a project nobody trusts: a program of somebody else's does not start here.
    pub(crate) inert: Vec<Inert>,
    /// Those a file of a higher layer has under the same name.
    pub(crate) shadowed: Vec<ServerConfig>,
}

/// A server that does not start.
#[derive(Debug)]
pub(crate) struct Inert {
    pub(crate) config: ServerConfig,
    pub(crate) file: PathBuf,
    pub(crate) trust: Trust,
}

impl Inert {
    /// What lets it start.
    fn way_on(&self) -> String {
        let (name, file) = (&self.config.name, self.file.display());
        format!(
            "The server {name} does not start before somebody trusts its file: read it, then `tollgate trust {file}` and `tollgate mcp check {name}`."
        )
    }
}

impl Servers {
    /// Reads the servers of every file, or says which one is wrong. Starts none. With mocks there are none at all.
    pub(crate) fn load(shared: &Shared, config: &Config, scope: &Scope) -> Result<Self, Fault> {
        Self::load_asking(shared, config, scope, Arc::new(Declined("nobody is asked here")))
    }

    /// The same, with somebody who answers what servers ask a person.
    pub(crate) fn load_asking(
        shared: &Shared,
        config: &Config,
        scope: &Scope,
        person: Arc<dyn Elicitor>,
    ) -> Result<Self, Fault> {
        if !shared.mocks.is_empty() {
            return Ok(Self { upstreams: Upstreams::none(), inert: Vec::new(), shadowed: Vec::new() });
        }
        let environment = Environment::read();
        let mut found = Found::default();
        found.toml_files(&config.loaded, &environment)?;
        if !shared.no_config {
            let sources = config::sources(shared, &environment, scope.cwd());
            found.json_file(&sources, scope.cwd(), &environment)?;
        }
        let Found { live, inert, shadowed } = found;
        let launcher = HostLauncher::new(environment.variables.iter().cloned());
        // A server must not outlive this program, however it ends.
        let launcher = match std::env::current_exe() {
            Ok(program) => launcher.wrapped(Arc::new(Leash::new(program))),
            Err(_) => launcher,
        };
        let mut wiring = Wiring::new(Arc::new(launcher));
        if live.iter().any(|server| server.sandbox.is_some()) {
            wiring.held = holding(config, scope, &environment)?;
        }
        wiring.elicitor = person;
        wiring.roots = scope.roots().to_vec();
        wiring.pins = pins(&environment);
        wiring.logins = config::data_folder(&environment).map(|folder| folder.join("logins"));
        Ok(Self { upstreams: Upstreams::new(live, wiring), inert, shadowed })
    }

    /// The servers of a world, their tools offered beside those it has: of those that are needed, and no other is started.
    /// Keep the answer as long as calls are made.
    pub(crate) async fn join(shared: &Shared, world: &mut World, needed: &[&str]) -> Result<Self, Fault> {
        let servers = Self::load_asking(shared, &world.config, &world.scope, person(world, shared.json))?;
        if servers.upstreams.is_empty() && servers.inert.is_empty() {
            return Ok(servers);
        }
        let meant = |name: &str| Wanted::Tools(needed).names(name);
        servers.upstreams.know(Wanted::Tools(needed)).await;
        servers.tell_trouble(meant);
        let set_aside = servers.offer(&mut world.loaded);
        tell_set_aside(set_aside.iter().filter(|aside| meant(aside.server.as_str())));
        world.gate.replace(world.loaded.registry.clone());
        Ok(servers)
    }

    /// What to do about a tool that nobody knows, where its name is one of a configured server's.
    pub(crate) fn hint_about(&self, tool: &str) -> Option<String> {
        let needed = [tool];
        let meant = |config: &ServerConfig| Wanted::Tools(&needed).names(config.name.as_str());
        if let Some(config) = self.upstreams.configs().find(|config| meant(config)) {
            let name = &config.name;
            return Some(format!(
                "No such tool of the server {name} is known yet, and nothing is started to explain a call: `tollgate mcp check {name}` starts it and lists its tools."
            ));
        }
        self.inert.iter().find(|inert| meant(&inert.config)).map(Inert::way_on)
    }

    /// An explanation that says what to do where its tool is one of a server's that is not known yet.
    pub(crate) fn explained(&self, mut explanation: Explanation) -> Explanation {
        if explanation.code == Some(RefusalCode::UnknownTool)
            && let Some(hint) = self.hint_about(&explanation.tool)
        {
            explanation.hint = Some(hint);
        }
        explanation
    }

    /// Connects to every server. Healthy ones are there at once; whoever takes longer comes when it comes.
    pub(crate) async fn start(&self) {
        let _ = tokio::time::timeout(SOON + START, self.connect(Wanted::All)).await;
        self.tell_trouble(|_| true);
    }

    /// Waits until these servers are there or known not to be; whoever waits along is told for which.
    pub(crate) async fn connect(&self, wanted: Wanted<'_>) {
        let mut connecting = std::pin::pin!(self.upstreams.connect(wanted));
        if tokio::time::timeout(SOON, &mut connecting).await.is_ok() {
            return;
        }
        let starting = |status: &ServerStatus| matches!(status.health, Health::Starting);
        let waiting = self.upstreams.status().into_iter().filter(starting);
        let names: Vec<_> = waiting.map(|status| status.name.to_string()).collect();
        words::talk(&format!("note: waiting for the MCP servers: {}", names.join(", ")));
        connecting.await;
    }

    /// Whenever tools of a server come, go or change, `apply` is called; it runs between turns.
    pub(crate) fn follow(&self, mut apply: impl FnMut(&Upstreams) + Send + 'static) {
        if self.upstreams.is_empty() {
            return;
        }
        let upstreams = self.upstreams.clone();
        let mut changes = upstreams.changes();
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                tokio::time::sleep(TOGETHER).await;
                changes.mark_unchanged();
                apply(&upstreams);
            }
        });
    }

    /// Puts the tools of every server that is known into the registry.
    pub(crate) fn offer(&self, loaded: &mut Loaded) -> Vec<SetAside> {
        let base = std::mem::replace(&mut loaded.registry, Registry::new());
        let registered = self.upstreams.register(self.knowing_inert(base));
        loaded.registry = registered.registry;
        let declared = self.upstreams.hints().into_iter().map(|(label, hints)| {
            let mut declared = Declared::default();
            declared.hints = Some(hints);
            declared.timeouts = true;
            (label, declared)
        });
        loaded.declared.extend(declared);
        registered.set_aside
    }

    /// The registry, knowing of the servers that do not start before somebody trusts their file.
    pub(crate) fn knowing_inert(&self, registry: Registry) -> Registry {
        self.inert.iter().fold(registry, |registry, inert| {
            let why = "does not start before a person trusts the file it stands in";
            let server = inert.config.name.as_str().into();
            registry.with_absent(Absent { server, why: why.into(), hint: inert.way_on().into() })
        })
    }

    /// Says which servers are not there, and why.
    pub(crate) fn tell_trouble(&self, meant: impl Fn(&str) -> bool) {
        for status in self.upstreams.status() {
            if let Some(reason) = status.health.reason().filter(|_| meant(status.name.as_str())) {
                let (name, reason) = (&status.name, words::visible(reason));
                words::talk(&format!(
                    "note: the server {name} is not there: {reason}\nhint: `tollgate mcp check {name}` tries it again; `tollgate mcp remove {name}` takes it out."
                ));
            }
        }
        for Inert { config, file, trust } in
            self.inert.iter().filter(|inert| meant(inert.config.name.as_str()))
        {
            let why =
                if *trust == Trust::Changed { "has changed since it was trusted" } else { "is not trusted" };
            let (name, file) = (&config.name, file.display());
            words::talk(&format!(
                "note: the server {name} does not start: {file} {why}; `tollgate trust {file}` shows what it would run."
            ));
        }
    }
}

/// Who answers what servers ask: the person at the terminal, or nobody, which is said. Where the answer is for a program,
/// nobody is there to read a form.
pub(crate) fn person(world: &World, for_a_program: bool) -> Arc<dyn Elicitor> {
    match &world.terminal {
        Some(terminal) if !for_a_program => Arc::new(Forms(terminal.clone())),
        Some(_) => {
            Arc::new(Declined("the answer is for a program; leave --json and --print out to be asked"))
        }
        None => Arc::new(Declined("nobody is at a terminal to be asked")),
    }
}

/// What holds servers that are to run in a sandbox; `None` where our own program, which it takes, cannot be found.
fn holding(config: &Config, scope: &Scope, environment: &Environment) -> Result<Option<LauncherOf>, Fault> {
    let asked = Asked::load(&config.loaded, environment)?;
    let Ok(program) = std::env::current_exe() else { return Ok(None) };
    let variables = environment.variables.iter().cloned();
    let holding = Holding::new(&asked.config, scope.roots(), config.own().collect(), variables, program);
    Ok(Some(Box::new(move |server| holding.launcher(server))))
}

/// Names what of the servers' lists cannot be used.
pub(crate) fn tell_set_aside<'a>(set_aside: impl Iterator<Item = &'a SetAside>) {
    for SetAside { server, tool, why } in set_aside.take(10) {
        words::talk(&format!(
            "note: set aside from the server {server}: {}: {}",
            words::visible(tool),
            words::visible(why)
        ));
    }
}

/// The pins of this person.
pub(crate) fn pins(environment: &Environment) -> Option<PinStore> {
    config::data_folder(environment).map(|folder| PinStore::new(folder.join("mcp-pins.json")))
}

/// The name a tool goes by: `@server/tool` is `server__tool`.
pub(crate) fn label(tool: &str) -> String {
    match tool.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((server, own)) => format!("{server}__{own}"),
        None => tool.to_owned(),
    }
}
