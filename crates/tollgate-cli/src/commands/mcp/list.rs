//! `mcp list`: every server that is configured, and whether it may start. None is started.

use serde_json::json;
use tollgate_mcp::{ServerConfig, config::Endpoint};

use crate::{
    args::{Environment, Shared},
    commands::tools::table,
    config::Config,
    exit::{Exit, Fault},
    servers::Servers,
    words, world,
};

pub(super) fn run(shared: &Shared) -> Result<Exit, Fault> {
    let scope = world::scope(shared, &Environment::read())?;
    let config = Config::load(shared, &Environment::read(), scope.cwd())?;
    let servers = Servers::load(shared, &config, &scope)?;
    let live = servers.upstreams.configs().map(|server| (server, "ready to start"));
    let inert = servers.inert.iter().map(|inert| (&inert.config, "not trusted"));
    let shadowed = servers.shadowed.iter().map(|server| (server, "another of that name counts"));
    let mut rows: Vec<_> = live.chain(inert).chain(shadowed).collect();
    rows.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    if shared.json {
        let lines: Vec<_> =
            rows.iter().map(|(server, state)| words::json(&described(server, state))).collect();
        if !lines.is_empty() {
            words::data(&lines.join("\n"))?;
        }
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        words::talk("note: no server is configured.");
        words::talk(
            "hint: `tollgate mcp add NAME -- PROGRAM ARGUMENTS`, or `tollgate mcp import FILE` from another client.",
        );
        return Ok(Exit::Done);
    }
    let head = ["NAME", "STATE", "BELIEVED", "SOURCE", "REACHED BY"].map(str::to_owned);
    let rows = rows.iter().map(|(server, state)| {
        let believed = if server.trust { "yes" } else { "no" };
        let reached = words::visible(&server.endpoint.shown());
        [server.name.to_string(), (*state).to_owned(), believed.to_owned(), server.source.clone(), reached]
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    words::data(&table(&rows))?;
    servers.tell_trouble(|_| true);
    Ok(Exit::Done)
}

fn described(server: &ServerConfig, state: &str) -> serde_json::Value {
    let transport = match server.endpoint {
        Endpoint::Stdio { .. } => "stdio",
        Endpoint::Http { .. } => "http",
    };
    json!({"name": server.name.as_str(), "state": state, "transport": transport, "reached_by": server.endpoint.shown(),
           "generation": server.generation, "trust": server.trust, "source": server.source})
}
