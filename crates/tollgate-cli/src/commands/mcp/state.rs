//! How every configured server stands, as far as that can be told without starting one.

use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde::Serialize;
use tollgate_mcp::{
    ServerConfig,
    config::{Confinement, Endpoint, Generation},
};

use crate::{
    args::Environment,
    servers::{self, Servers},
};

/// One server.
#[derive(Serialize)]
pub(crate) struct ServerState {
    pub(crate) name: String,
    pub(crate) state: &'static str,
    pub(crate) transport: &'static str,
    /// The command or address.
    pub(crate) reached_by: String,
    pub(crate) generation: Generation,
    pub(crate) trust: bool,
    pub(crate) source: String,
    /// What holds its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<&'static str>,
    /// How many of its tools are pinned; none before it was first used.
    pub(crate) pinned: usize,
    /// What keeps it from starting, where something does.
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// What to do next.
    pub(crate) hint: String,
}

impl ServerState {
    /// How it stands, on one line.
    pub(crate) fn told(&self) -> String {
        let state = match &self.problem {
            Some(problem) => format!("{}: {problem}", self.state),
            None => format!("{}, {} tools pinned", self.state, self.pinned),
        };
        let held = match (self.transport, self.sandbox) {
            ("http", _) => String::new(),
            (_, Some(held)) => format!("; in the sandbox, {held}"),
            (_, None) => "; outside the sandbox".to_owned(),
        };
        format!("{}, {state}{held}", self.name)
    }
}

/// Every server, in the order of their names.
pub(crate) fn states(servers: &Servers, environment: &Environment) -> Vec<ServerState> {
    let live = servers.upstreams.configs().map(|server| {
        let problem = problem(server, environment);
        let hint = match &problem {
            Some((_, hint)) => hint.clone(),
            None => format!(
                "`tollgate mcp check {}` starts it, lists its tools and says what changed",
                server.name
            ),
        };
        state(server, "ready to start", problem.map(|(what, _)| what), hint, environment)
    });
    let inert = servers.inert.iter().map(|inert| {
        let file = inert.file.display();
        let hint = format!("`tollgate trust {file}` shows what it would run, and lets it");
        state(&inert.config, "not trusted", Some(format!("nobody trusts {file} as it is")), hint, environment)
    });
    let shadowed = servers.shadowed.iter().map(|server| {
        let hint = "rename one of the two".to_owned();
        state(server, "another of that name counts", None, hint, environment)
    });
    let mut all: Vec<_> = live.chain(inert).chain(shadowed).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn state(
    server: &ServerConfig,
    state: &'static str,
    problem: Option<String>,
    hint: String,
    environment: &Environment,
) -> ServerState {
    let pinned =
        servers::pins(environment).and_then(|pins| pins.count(&server.name).ok()).unwrap_or_default();
    ServerState {
        name: server.name.to_string(),
        state,
        transport: match server.endpoint {
            Endpoint::Stdio { .. } => "stdio",
            Endpoint::Http { .. } => "http",
        },
        reached_by: server.endpoint.shown(),
        generation: server.generation,
        trust: server.trust,
        source: server.source.clone(),
        sandbox: server.sandbox.map(|confinement| match (confinement, server.network) {
            (Confinement::Reading, _) => "may only read",
            (Confinement::Writing, false) => "may change the roots, no network",
            (Confinement::Writing, true) => "may change the roots, network open",
        }),
        pinned,
        problem,
        hint,
    }
}

/// What would keep a server from starting, and what to do about it.
fn problem(server: &ServerConfig, environment: &Environment) -> Option<(String, String)> {
    if let Some(missing) = server.missing.first() {
        return Some((
            format!("it wants the variable {missing}, which is not set"),
            format!("set {missing}"),
        ));
    }
    let Endpoint::Stdio { command, cwd, .. } = &server.endpoint else { return None };
    if found(command, cwd.as_deref(), environment.variable("PATH")).is_some() {
        return None;
    }
    let hint = format!("install it, or correct `command` at {}", server.source);
    Some((format!("its program {command:?} is not found"), hint))
}

/// The program a command names: by its path, or in the folders of `PATH`.
fn found(command: &str, cwd: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if command.contains('/') {
        let file = cwd.map_or_else(|| PathBuf::from(command), |cwd| cwd.join(command));
        return Some(file).filter(runs);
    }
    std::env::split_paths(path?).map(|folder| folder.join(command)).find(runs)
}
