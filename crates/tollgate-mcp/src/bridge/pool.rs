//! All servers together: started in parallel and only when needed, one bad one in nobody's way.

use std::{io, path::PathBuf, sync::Arc};

use futures_util::future::join_all;
use tokio::sync::watch;
use tollgate::{
    BoxFuture, Registry, Tollgate,
    catalog::{Absent, lint::Hints},
    launch::{Launcher, Program, Started},
};

use super::{
    life::Health,
    pins::{PinFault, PinStore},
    tool::tool,
    upstream::{Listed, Standing, Upstream},
};
use crate::{
    auth::Login,
    client::{Elicitor, Host, NoPerson, NoSampler, Sampler},
    config::{ServerConfig, ServerName},
};

/// Every configured server. Clones are the same.
///
/// Nothing is started before it is needed. Dropping the last clone ends every server that was.
#[derive(Clone)]
pub struct Upstreams {
    servers: Arc<[Arc<Upstream>]>,
    changes: watch::Receiver<u64>,
}

/// What servers find around them.
pub struct Wiring {
    /// Who starts their programs.
    pub launcher: Arc<dyn Launcher>,
    /// Who starts the programs of servers that are to run in a sandbox, each by its own entry. Without it they do not start.
    pub held: Option<LauncherOf>,
    /// Who puts their questions to a person.
    pub elicitor: Arc<dyn Elicitor>,
    /// Who has the model write for those that may ask for it.
    pub sampler: Arc<dyn Sampler>,
    /// The roots they are told.
    pub roots: Vec<PathBuf>,
    /// Where their definitions are pinned; without it they are only held for the life of this value.
    pub pins: Option<PinStore>,
    /// The folder where logins are kept; without it they last as long as this value.
    pub logins: Option<PathBuf>,
}

/// Finds who starts a server's program.
pub type LauncherOf = Box<dyn Fn(&ServerConfig) -> Option<Arc<dyn Launcher>> + Send + Sync>;

/// Which servers a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// All of them.
    All,
    /// The ones that have these tools, each as `@server/tool` or `server__tool`.
    Tools(&'a [&'a str]),
    /// This one.
    Server(&'a str),
}

/// A registry with the servers' tools in it, and what is not in it.
#[derive(Debug)]
pub struct Registered {
    /// The tools.
    pub registry: Registry,
    /// What was left out, and why.
    pub set_aside: Vec<SetAside>,
}

/// A tool of a server that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The server.
    pub server: ServerName,
    /// The tool, or its place in the list.
    pub tool: String,
    /// Why.
    pub why: String,
}

/// How one server is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The server.
    pub name: ServerName,
    /// How it is, with the reason where it is not well.
    pub health: Health,
    /// The version of the protocol that was agreed on.
    pub version: Option<String>,
    /// Its tools, as far as they are known.
    pub tools: Vec<ToolStatus>,
    /// What of its list cannot be used: which, and why.
    pub set_aside: Vec<(String, String)>,
    /// Lines that were no messages, and answers nobody waited for.
    pub strays: u64,
}

/// How one tool stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolStatus {
    /// Its own name.
    pub name: String,
    /// The hash over its whole definition.
    pub hash: String,
    /// How it stands to its pin.
    pub standing: Standing,
    /// What a person should look at.
    pub warnings: Vec<String>,
}

impl Wiring {
    /// Nobody to ask, no model, no roots, nothing kept.
    pub fn new(launcher: Arc<dyn Launcher>) -> Self {
        let (elicitor, sampler) = (Arc::new(NoPerson), Arc::new(NoSampler));
        Self { launcher, held: None, elicitor, sampler, roots: Vec::new(), pins: None, logins: None }
    }
}

/// Starts nothing.
struct NoSandbox;

impl Launcher for NoSandbox {
    fn start(&self, _: Program) -> BoxFuture<'_, io::Result<Started>> {
        Box::pin(std::future::ready(Err(io::Error::other(
            "it is to run in a sandbox, and there is none here",
        ))))
    }
}

impl Upstreams {
    /// No servers at all.
    pub fn none() -> Self {
        Self { servers: Arc::default(), changes: watch::channel(0).1 }
    }

    /// The servers, of which none is started yet. Of two with one name, the first counts.
    pub fn new(configs: impl IntoIterator<Item = ServerConfig>, wiring: Wiring) -> Self {
        let Wiring { launcher, held, elicitor, sampler, roots, pins, logins } = wiring;
        let pins = pins.unwrap_or_else(PinStore::in_memory);
        let (changed, changes) = watch::channel(0);
        let mut servers: Vec<Arc<Upstream>> = Vec::new();
        for config in configs {
            if !config.enabled || servers.iter().any(|known| known.config.name == config.name) {
                continue;
            }
            let host = Host {
                server: config.name.clone(),
                elicitor: elicitor.clone(),
                sampler: sampler.clone(),
                roots: roots.clone(),
                may_elicit: config.elicitation,
                may_sample: config.sampling,
                sees_roots: config.roots,
            };
            let login = Login::at(&config, logins.as_deref());
            let of_held = || held.as_ref().and_then(|held| held(&config));
            let launcher: Arc<dyn Launcher> = match config.sandbox {
                None => launcher.clone(),
                // What is to be held does not start where nobody can hold it.
                Some(_) => of_held().unwrap_or_else(|| Arc::new(NoSandbox)),
            };
            let pins = pins.clone();
            let upstream =
                Upstream::new(config, launcher, Arc::new(login), Arc::new(host), pins, changed.clone());
            servers.push(Arc::new(upstream));
        }
        servers.sort_by(|a, b| a.config.name.cmp(&b.config.name));
        Self { servers: servers.into(), changes }
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The configuration of each server, in the order of their names.
    pub fn configs(&self) -> impl Iterator<Item = &ServerConfig> {
        self.servers.iter().map(|server| &server.config)
    }

    /// Connects to the servers that are wanted, all at once, and lists their tools. It takes as long as the slowest, and
    /// never longer than its start may take. What fails is told by [`Upstreams::status`].
    pub async fn connect(&self, wanted: Wanted<'_>) {
        let servers = self.servers.iter().filter(|server| wanted.means(server));
        join_all(servers.map(Upstream::connection)).await;
    }

    /// The same in the background; [`Upstreams::changes`] tells of each that is there.
    pub fn connect_soon(&self) {
        for server in &*self.servers {
            let server = server.clone();
            tokio::spawn(async move { server.connection().await.map(drop) });
        }
    }

    /// Like [`Upstreams::connect`], but servers whose wanted tools are pinned are not started for it: they will be when a
    /// call needs them.
    pub async fn know(&self, wanted: Wanted<'_>) {
        let unknown = self.servers.iter().filter(|server| wanted.means(server) && !wanted.is_known(server));
        join_all(unknown.map(Upstream::connection)).await;
    }

    /// The registry with the tools of every server that has been listed, or that is remembered from its pins.
    pub fn register(&self, base: Registry) -> Registered {
        let mut registered = Registered { registry: base, set_aside: Vec::new() };
        for server in &*self.servers {
            let name = &server.config.name;
            let listed = server.listed().or_else(|| server.remembered().map(Arc::new));
            let Some(listed) = listed else {
                registered.registry = registered.registry.with_absent(absent(server));
                continue;
            };
            let aside = listed.aside.iter().map(|(tool, why)| (tool.clone(), why.clone()));
            let mut aside: Vec<_> = aside.collect();
            let deferred = listed.tools.len() > server.config.limits.in_prompt;
            let mut tools = Vec::new();
            for (own, offered) in &listed.tools {
                match tool(server, offered, deferred) {
                    Ok(tool) => tools.push(tool),
                    Err(why) => aside.push((own.clone(), why)),
                }
            }
            let (registry, errors) = registered.registry.with_each(tools);
            registered.registry = registry;
            aside.extend(errors.iter().map(|error| (tool_of(error), error.to_string())));
            let aside = aside.into_iter().map(|(tool, why)| SetAside { server: name.clone(), tool, why });
            registered.set_aside.extend(aside);
        }
        registered
    }

    /// What each server says of its tools' effects, by the name each tool goes by; for showing, not for deciding.
    pub fn hints(&self) -> Vec<(Arc<str>, Hints)> {
        let mut all = Vec::new();
        for server in &*self.servers {
            let Some(listed) = server.listed().or_else(|| server.remembered().map(Arc::new)) else {
                continue;
            };
            all.extend(listed.tools.iter().map(|(own, offered)| {
                let hints = offered.definition.hints;
                let hints = Hints {
                    read_only: hints.read_only,
                    destructive: hints.destructive,
                    idempotent: hints.idempotent,
                    open_world: hints.open_world,
                };
                (format!("{}__{own}", server.config.name).into(), hints)
            }));
        }
        all
    }

    /// Between turns: gives the gate the tools as they are now, on top of `base`.
    pub fn apply(&self, gate: &Tollgate, base: &Registry) -> Vec<SetAside> {
        let Registered { registry, set_aside } = self.register(base.clone());
        gate.replace(registry);
        set_aside
    }

    /// Counts up whenever the tools or the health of a server changed. Several changes may be one step.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// How every server is.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.servers.iter().map(|server| status(server)).collect()
    }

    /// Takes what a server offers now for what may be called from now on. False where there is no such server, or it has
    /// not been listed.
    pub fn approve(&self, name: &str) -> Result<bool, PinFault> {
        let server = self.servers.iter().find(|server| server.config.name.as_str() == name);
        match server.filter(|server| server.listed().is_some()) {
            Some(server) => server.approve().map(|()| true),
            None => Ok(false),
        }
    }

    /// The login of one server.
    pub fn login(&self, name: &str) -> Option<Arc<Login>> {
        let server = self.servers.iter().find(|server| server.config.name.as_str() == name)?;
        Some(server.login.clone())
    }

    /// Ends every connection and every program that was started, and waits for it.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }
}

impl Wanted<'_> {
    /// True when the server of this name is meant.
    pub fn names(self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Server(wanted) => wanted == server,
            Self::Tools(tools) => tools.iter().any(|tool| own_name(server, tool).is_some()),
        }
    }

    fn means(self, server: &Upstream) -> bool {
        self.names(server.config.name.as_str())
    }

    /// True when everything that is wanted of the server is pinned.
    fn is_known(self, server: &Upstream) -> bool {
        let Self::Tools(tools) = self else { return server.listed().is_some() };
        let Some(listed) = server.listed().or_else(|| server.remembered().map(Arc::new)) else {
            return false;
        };
        let name = server.config.name.as_str();
        tools.iter().filter_map(|tool| own_name(name, tool)).all(|own| listed.tools.contains_key(own))
    }
}

/// What a tool is called at its server, where the name is one of this server's.
fn own_name<'a>(server: &str, tool: &'a str) -> Option<&'a str> {
    match tool.strip_prefix('@') {
        Some(rest) => rest.strip_prefix(server)?.strip_prefix('/'),
        None => tool.strip_prefix(server)?.strip_prefix("__"),
    }
}

fn tool_of(error: &tollgate::catalog::RegistryError) -> String {
    use tollgate::catalog::RegistryError::{Duplicate, Name, Other, Schema};
    match error {
        Name { tool, .. } | Duplicate { tool, .. } | Schema { tool, .. } | Other { tool, .. } => tool.clone(),
    }
}

/// What a model is told of a server whose tools are not known. Why it failed is for the operator.
fn absent(server: &Upstream) -> Absent {
    let name = server.config.name.as_str();
    let (why, does) = match server.health() {
        Health::Down { .. } | Health::Broken { .. } => ("could not be reached", "says what is wrong with it"),
        Health::Starting => ("is still starting", "waits for it and lists its tools"),
        Health::Idle | Health::Ready => ("was not asked for its tools yet", "asks it for them"),
    };
    let hint = format!("`tollgate mcp check {name}` {does}; until then use another tool.");
    Absent { server: name.into(), why: why.into(), hint: hint.into() }
}

fn status(server: &Upstream) -> ServerStatus {
    let listed: Option<Arc<Listed>> = server.listed();
    let tools = listed.iter().flat_map(|listed| &listed.tools).map(|(name, offered)| ToolStatus {
        name: name.clone(),
        hash: offered.definition.hash.to_string(),
        standing: offered.standing.clone(),
        warnings: offered.definition.warnings.clone(),
    });
    ServerStatus {
        name: server.config.name.clone(),
        health: server.health(),
        version: server.version(),
        tools: tools.collect(),
        set_aside: listed.as_ref().map(|listed| listed.aside.clone()).unwrap_or_default(),
        strays: server.strays(),
    }
}

impl std::fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.servers.iter().map(|server| &server.config.name)).finish()
    }
}
