//! `mcp list`: every server that is configured, and whether it may start. None is started.

use super::state::{ServerState, states};
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
    let rows = states(&servers, &Environment::read());
    if shared.json {
        let lines: Vec<_> = rows.iter().map(words::json).collect();
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
    let problems: Vec<_> = rows.iter().filter(|row| row.state != "not trusted").filter_map(told).collect();
    let head = ["NAME", "STATE", "BELIEVED", "SANDBOX", "PINNED", "SOURCE", "REACHED BY"].map(str::to_owned);
    let rows = rows.into_iter().map(|row| {
        let believed = if row.trust { "yes" } else { "no" };
        let reached = words::visible(&row.reached_by);
        let held = row.sandbox.unwrap_or("no").to_owned();
        [
            row.name,
            row.state.to_owned(),
            believed.to_owned(),
            held,
            row.pinned.to_string(),
            row.source,
            reached,
        ]
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    words::data(&table(&rows))?;
    problems.iter().for_each(|problem| words::talk(problem));
    servers.tell_trouble(|_| true);
    Ok(Exit::Done)
}

/// What is wrong with a server, and what to do about it.
fn told(row: &ServerState) -> Option<String> {
    let problem = row.problem.as_ref()?;
    Some(format!(
        "note: the server {}: {}; {}.",
        row.name,
        words::visible(problem),
        words::visible(&row.hint)
    ))
}
