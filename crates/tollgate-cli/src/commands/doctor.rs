//! `tollgate doctor`: what is set up, what is not, and what to do about it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use tollgate_tools::sandbox::{Level, Sandbox};

use crate::{
    args::{Environment, Shared},
    builtins,
    exit::{Exit, Fault},
    mocks::{self, Loaded, Wanted},
    words, world,
};

/// Everything doctor found.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    ok: bool,
    roots: Vec<PathBuf>,
    concurrency: Option<usize>,
    results: Option<Results>,
    sandbox: Option<Confinement>,
    tools: usize,
    mocks: Vec<File>,
    rules: Vec<Rule>,
    broken: Vec<Trouble>,
    advice: Vec<String>,
}

#[derive(Serialize)]
struct Results {
    folder: PathBuf,
    exists: bool,
}

/// How well commands are held.
#[derive(Serialize)]
struct Confinement {
    level: &'static str,
    holds: &'static str,
    /// What would raise it.
    missing: Vec<String>,
}

#[derive(Serialize)]
struct File {
    #[serde(rename = "file")]
    path: PathBuf,
    tools: usize,
    routes: Vec<String>,
    set_aside: Vec<Aside>,
}

#[derive(Serialize)]
struct Aside {
    tool: String,
    reason: String,
}

#[derive(Serialize)]
struct Rule {
    #[serde(rename = "rule")]
    text: String,
    source: &'static str,
    /// False when no tool is meant by it.
    speaks: bool,
}

#[derive(Serialize)]
struct Trouble {
    what: String,
    hint: String,
}

pub(crate) fn run(shared: &Shared) -> Result<Exit, Fault> {
    let report = examine(shared, &Environment::read());
    words::data(&if shared.json { words::json(&report) } else { told(&report) })?;
    Ok(if report.ok { Exit::Done } else { Exit::Failed })
}

/// Looks at everything; what is broken is noted, and the rest is looked at all the same.
fn examine(shared: &Shared, environment: &Environment) -> Report {
    let mut broken = Vec::new();
    let mut note = |fault: Fault| broken.push(Trouble { what: fault.message, hint: fault.hint });
    let roots = world::roots(shared).map_err(&mut note).unwrap_or_default();
    let concurrency = world::concurrency(environment).map_err(&mut note).ok();
    world::rules(shared).map_err(&mut note).ok();
    let parsed = shared
        .mocks
        .iter()
        .filter_map(|path| mocks::open(path).map(|mocks| (path.clone(), mocks)).map_err(&mut note).ok());
    let loaded = match shared.mocks.is_empty() {
        true => Loaded::load(&[], Wanted::All).map_err(&mut note).unwrap_or_default(),
        false => Loaded::of(parsed.collect(), Wanted::All),
    };
    let sandbox = builtins::sandbox(environment).map_err(&mut note).ok().map(confinement);
    if let Some(refusal) = builtins::sandbox(environment).ok().and_then(|sandbox| sandbox.allowed().err()) {
        note(Fault::usage(refusal.reason.clone(), refusal.hint.clone().unwrap_or_default()));
    }
    let results = world::results_folder(shared, environment).and_then(|folder| {
        usable(&folder).map(|()| Results { exists: folder.exists(), folder }).map_err(&mut note).ok()
    });
    let rules: Vec<_> = world::given_rules(shared)
        .map(|(source, _, rule)| Rule {
            text: rule.to_owned(),
            source,
            speaks: world::speaks(rule, &loaded.registry),
        })
        .collect();
    let advice = advice(shared, &loaded, results.is_some(), &rules);
    Report {
        version: env!("CARGO_PKG_VERSION"),
        ok: broken.is_empty(),
        roots,
        concurrency,
        results,
        sandbox,
        tools: loaded.registry.specs().count(),
        mocks: loaded.files.into_iter().map(File::from).collect(),
        rules,
        broken,
        advice,
    }
}

impl From<mocks::File> for File {
    fn from(file: mocks::File) -> Self {
        let aside = |one: tollgate::testing::SetAside| Aside { tool: one.what, reason: one.why.to_string() };
        let set_aside = file.set_aside.into_iter().map(aside).collect();
        Self { path: file.path, tools: file.tools, routes: file.routes, set_aside }
    }
}

fn confinement(sandbox: Sandbox) -> Confinement {
    let found = sandbox.found();
    let holds = match found.level {
        Level::L3 => "bubblewrap and seccomp hold commands: files, network, processes",
        Level::L2 => "Landlock, seccomp and limits hold commands: files, network",
        Level::L1 => "nothing holds commands, so that each one needs a yes",
    };
    Confinement { level: found.level.name(), holds, missing: found.missing.clone() }
}

/// A folder that is there or can be made. Makes nothing.
fn usable(folder: &Path) -> Result<(), Fault> {
    let there = folder.ancestors().find_map(|above| above.metadata().ok());
    let wrong = match there {
        Some(there) if !there.is_dir() => "is not a folder, or lies below a file",
        Some(there) if there.permissions().readonly() => "cannot be written",
        _ => return Ok(()),
    };
    Err(Fault::usage(
        format!("the folder for long results, {}, {wrong}", folder.display()),
        "give --results DIR, or set TOLLGATE_HOME.",
    ))
}

fn advice(shared: &Shared, loaded: &Loaded, keeps: bool, rules: &[Rule]) -> Vec<String> {
    let mut advice = Vec::new();
    if loaded.is_empty() {
        advice.push("no tools are loaded: give --mocks FILE.".to_owned());
    }
    if !keeps {
        advice
            .push("long results are cut and not kept: give --results DIR, or set TOLLGATE_HOME.".to_owned());
    }
    if loaded.set_aside().next().is_some() {
        advice.push("put right what was set aside: until then those tools do not exist.".to_owned());
    }
    let defined = |route: &String| loaded.files.iter().any(|file| file.routes.contains(route));
    for route in shared.route.iter().filter(|route| !defined(route)) {
        advice.push(format!("no file defines the route {route}, so that it exposes nothing: correct it."));
    }
    for rule in rules.iter().filter(|rule| !rule.speaks && !loaded.is_empty()) {
        advice.push(format!("{} {} means none of the tools: correct it.", rule.source, rule.text));
    }
    if !loaded.is_empty() && rules.is_empty() {
        advice.push(
            "no rules are given: what needs a yes is refused, with exit code 4; give --allow RULE."
                .to_owned(),
        );
    }
    advice
}

fn told(report: &Report) -> String {
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
    if let Some(Confinement { level, holds, missing }) = &report.sandbox {
        line("sandbox", &format!("{level}: {holds}"));
        for missing in missing {
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
    for rule in &report.rules {
        line("rule", &format!("{} {}", rule.source, rule.text));
    }
    line("asking", "nobody can be asked from this command line");
    for trouble in &report.broken {
        line("broken", &trouble.what);
        line("hint:", &trouble.hint);
    }
    for advice in &report.advice {
        line("hint:", advice);
    }
    lines.join("\n")
}
