//! `mcp check`: connects, lists, judges what is offered, and says what it costs. Calls nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate::{
    Registry,
    catalog::lint::{Level, Subject, estimated_tokens, lint},
    schema::{Provider, Target, nearest},
};
use tollgate_mcp::{
    Wanted,
    bridge::{ServerStatus, Standing},
};

use crate::{
    args::{Environment, McpCheck, Shared},
    config::Config,
    exit::{Exit, Fault},
    mocks::Loaded,
    servers::Servers,
    stop, words, world,
};

/// Whose form costs are counted in.
const FORM: Target = Target { provider: Provider::Anthropic, strict: false };

pub(super) fn run(check: &McpCheck, shared: &Shared) -> Result<Exit, Fault> {
    let scope = world::scope(shared, &Environment::read())?;
    let config = Config::load(shared, &Environment::read(), scope.cwd())?;
    let servers = Servers::load(shared, &config, &scope)?;
    let wanted = check.name.as_deref().map_or(Wanted::All, Wanted::Server);
    if !servers.upstreams.configs().any(|server| wanted.names(server.name.as_str())) {
        servers.tell_trouble(|name| wanted.names(name));
        return Err(none(check.name.as_deref(), &servers));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let checked = runtime.block_on(async {
        let began = Instant::now();
        tokio::select! {
            () = servers.connect(wanted) => {}
            () = stop::wished() => return Ok(Exit::Interrupted),
        }
        let took = began.elapsed();
        if check.accept {
            let name = check.name.as_deref().unwrap_or_default();
            let approved = servers.upstreams.approve(name);
            approved
                .map_err(|fault| Fault::input(fault.to_string(), "move the file away, or put it right."))?;
        }
        let told = tell(&servers, wanted, took, shared);
        servers.upstreams.close().await;
        told
    });
    runtime.shutdown_background();
    checked
}

/// There is nothing to connect to.
fn none(name: Option<&str>, servers: &Servers) -> Fault {
    let inert = |name: &str| servers.inert.iter().any(|inert| inert.config.name.as_str() == name);
    match name {
        Some(name) if inert(name) => {
            let message = format!("the server {name} does not start before a person trusts its file");
            Fault::usage(message, "`tollgate trust FILE` shows what it would run, and lets it.")
        }
        Some(name) => {
            let known: Vec<_> = servers.upstreams.configs().map(|server| server.name.as_str()).collect();
            let hint = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? `tollgate mcp list` shows every server."),
                None => "`tollgate mcp list` shows every server; `tollgate mcp add` makes one.".to_owned(),
            };
            Fault::usage(format!("no server is called {:?}", words::visible(name)), hint)
        }
        None if servers.inert.is_empty() => Fault::usage(
            "no server is configured",
            "`tollgate mcp add NAME -- PROGRAM ARGUMENTS`, or `tollgate mcp import FILE` from another client.",
        ),
        None => Fault::usage("none of the servers may start", "`tollgate mcp list` says why."),
    }
}

fn tell(servers: &Servers, wanted: Wanted<'_>, took: Duration, shared: &Shared) -> Result<Exit, Fault> {
    let mut loaded = Loaded { registry: Registry::new(), ..Loaded::default() };
    let set_aside = servers.offer(&mut loaded);
    let mut exit = Exit::Done;
    for status in servers.upstreams.status().iter().filter(|status| wanted.names(status.name.as_str())) {
        let mut report = report(status, &loaded);
        let aside = set_aside.iter().filter(|aside| aside.server == status.name);
        report["set_aside"] = aside.map(|aside| json!({"tool": aside.tool, "reason": aside.why})).collect();
        if shared.json {
            words::data(&words::json(&report))?;
        } else {
            words::data(&told(&report))?;
        }
        if status.health.reason().is_some() {
            exit = Exit::Failed;
        } else if exit == Exit::Done && status.tools.iter().any(|tool| tool.standing != Standing::Pinned) {
            exit = Exit::NeedsPerson;
        }
    }
    servers.tell_trouble(|_| false);
    if !shared.json {
        words::talk(&format!(
            "connected in {} ms; tokens are an estimate: a quarter of the bytes.",
            took.as_millis()
        ));
    }
    Ok(exit)
}

fn report(status: &ServerStatus, loaded: &Loaded) -> Value {
    let mut total = 0;
    let tools: Vec<_> = status
        .tools
        .iter()
        .map(|tool| {
            let label = format!("{}__{}", status.name, tool.name);
            let spec = loaded.registry.specs().find(|spec| spec.id.to_string() == format!("@{}/{}", status.name, tool.name));
            let tokens = spec.and_then(|spec| estimated_tokens(&label, spec, FORM));
            total += tokens.unwrap_or_default();
            let declared = loaded.declared.get(&*label);
            let findings = spec.map(|spec| lint(Subject { label: &label, spec, declared, providers: &Provider::ALL }));
            let findings = findings.unwrap_or_default().into_iter().filter(|finding| finding.level == Level::Warning);
            let findings = findings.map(|finding| json!({"kind": finding.rule, "message": finding.message, "fix": finding.fix}));
            let (standing, detail) = match &tool.standing {
                Standing::Pinned => ("approved", None),
                Standing::Changed { diff } => ("changed", Some(diff.clone())),
                Standing::OtherServer => ("other_server", None),
                Standing::Unknown { why } => ("unknown", Some(why.clone())),
            };
            json!({"name": tool.name, "label": label, "tokens": tokens, "hash": tool.hash, "standing": standing, "detail": detail,
                   "warnings": tool.warnings, "findings": findings.collect::<Vec<_>>()})
        })
        .collect();
    json!({"name": status.name.as_str(), "state": status.health.word(), "reason": status.health.reason(),
           "protocol": status.version, "tokens": total, "stray_messages": status.strays, "tools": tools})
}

fn told(report: &Value) -> String {
    let text = |value: &Value| words::visible(value.as_str().unwrap_or_default());
    let tools = report["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let mut lines = vec![match report["reason"].as_str() {
        Some(reason) => {
            let (server, state) = (text(&report["name"]), text(&report["state"]));
            let hint = "hint: correct it where `tollgate mcp list` says it is written, and check again.";
            format!("{server}: {state}: {}\n{hint}", words::visible(reason))
        }
        None => format!(
            "{}: {}, protocol {}, tools: {}, about {} tokens",
            text(&report["name"]),
            text(&report["state"]),
            text(&report["protocol"]),
            tools.len(),
            report["tokens"]
        ),
    }];
    for tool in tools {
        let tokens = tool["tokens"].as_u64().map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
        lines.push(words::entry::<32>(
            &text(&tool["name"]),
            &format!("{tokens} tokens, {}", text(&tool["standing"])),
        ));
        if let Some(detail) = tool["detail"].as_str() {
            lines.push(words::entry::<10>("", detail));
        }
        for warning in tool["warnings"].as_array().into_iter().flatten() {
            lines.push(words::entry::<10>("look at", &text(warning)));
        }
        for finding in tool["findings"].as_array().into_iter().flatten() {
            lines.push(words::entry::<10>(
                "warning",
                &format!("{} ({})", text(&finding["message"]), text(&finding["kind"])),
            ));
        }
        if tool["standing"] != "approved" {
            lines.push(words::entry::<10>(
                "hint:",
                &format!(
                    "`tollgate mcp check {} --accept` lets it be called as it is now.",
                    text(&report["name"])
                ),
            ));
        }
    }
    for aside in report["set_aside"].as_array().into_iter().flatten() {
        lines.push(words::entry::<10>(
            "set aside",
            &format!("{}: {}", text(&aside["tool"]), text(&aside["reason"])),
        ));
    }
    if let Some(strays) = report["stray_messages"].as_u64().filter(|strays| *strays > 0) {
        lines.push(words::entry::<10>(
            "note",
            &format!("{strays} lines of its stdout were no messages, or answers nobody waited for."),
        ));
    }
    lines.join("\n")
}
