//! What doctor found, in words.

use tollgate::policy::{Layer, config::Trust};

use super::report::{CLOSED, ConfigFile, HookFound, HookState, Report, Results};
use crate::words;

pub(super) fn told(report: &Report) -> String {
    let mut lines = vec![format!("tollgate {}", report.version)];
    let mut line = |word: &str, text: &str| lines.push(words::entry::<12>(word, text));
    for root in &report.roots {
        line("root", &root.display().to_string());
    }
    if let Some(calls) = report.concurrency {
        line("concurrency", &format!("{calls} calls of a batch at once (TOLLGATE_MAX_CONCURRENCY)"));
    }
    if let Some(Results { folder, exists }) = &report.results {
        let made = if *exists { "" } else { " (made on first use)" };
        line("results", &format!("{}{made}", folder.display()));
    }
    if let Some(store) = &report.store {
        line("store", &store.told());
    }
    if let Some(folder) = &report.undo {
        line("undo", &format!("{} (what file tools changed)", folder.display()));
    }
    if let Some(found) = &report.sandbox {
        line("sandbox", &format!("{}: {}", found.level, found.holds));
        if let Some(required) = found.required {
            line("", &format!("below {required} no command runs"));
        }
        if found.network != CLOSED {
            line("", &format!("the network is {}", found.network));
        }
        let places = [("also read", &found.readable), ("also changed", &found.writable)];
        for (word, place) in places.into_iter().flat_map(|(word, all)| all.iter().map(move |one| (word, one)))
        {
            line("", &format!("{word}: {}", place.display()));
        }
        for missing in &found.missing {
            line("hint:", missing);
        }
    }
    line("tools", &report.tools.to_string());
    for file in &report.mocks {
        line(
            "mocks",
            &format!("{}: {} tools, {} routes", file.path.display(), file.tools, file.routes.len()),
        );
        for aside in &file.set_aside {
            line("set aside", &format!("{}: {}", aside.tool, aside.reason));
        }
    }
    for ConfigFile { path, layer, rules, trust } in &report.config {
        let trust = match (layer, trust) {
            (Layer::Project, Trust::Trusted) => ", trusted",
            (Layer::Project, Trust::Changed) => ", changed since it was trusted",
            (Layer::Project, Trust::Never) => ", not trusted",
            _ => "",
        };
        line("policy", &format!("{}: {rules} rules, {}{trust}", path.display(), layer.as_str()));
    }
    for rule in &report.rules {
        line("rule", &format!("{} {}", rule.reference.source, rule.given));
    }
    for HookFound { name, state, why } in &report.hooks {
        let why = why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let state = match state {
            HookState::Answers => "a gate, answers",
            HookState::Fails => "a gate, fails",
            HookState::Observes => "an observer, not tried",
            HookState::Inert => "inert until `tollgate trust`",
        };
        line("hook", &format!("{name}, {state}{why}"));
    }
    for server in &report.servers {
        line("server", &server.told());
        line("", &format!("{}.", server.hint));
    }
    match report.keys.as_slice() {
        [] => line("model keys", "none is set"),
        keys => line("model keys", &keys.join(", ")),
    }
    for inert in &report.inert {
        line("inert", inert);
    }
    line(
        "asking",
        match report.asking {
            "terminal" => "at this terminal",
            _ => "nobody can be asked from this command line",
        },
    );
    for trouble in &report.broken {
        line("broken", &trouble.what);
        line("hint:", &trouble.hint);
    }
    for advice in &report.advice {
        line("hint:", advice);
    }
    lines.join("\n")
}
