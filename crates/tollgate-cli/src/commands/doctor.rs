//! `tollgate doctor`: what is set up, what is not, and what to do about it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tollgate::{
    hook::HookKind,
    policy::{
        Layer,
        config::{LoadedFile, Trust},
    },
};
use tollgate_tools::{
    hook_command::Probed,
    sandbox::{Level, Sandbox, SandboxConfig},
};

use crate::{
    approver,
    args::{Environment, Shared},
    commands::mcp::state::{ServerState, states},
    config,
    exit::{Exit, Fault},
    hooks::{Hooks, Inert},
    mocks::{self, Loaded, Wanted},
    run::{model::KEYS, settings::Settings},
    sandbox::Asked,
    servers::Servers,
    store::Found,
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
    store: Option<Found>,
    /// Where what the file tools change is kept for `tollgate undo`.
    undo: Option<PathBuf>,
    sandbox: Option<Confinement>,
    tools: usize,
    mocks: Vec<File>,
    config: Vec<ConfigFile>,
    rules: Vec<Rule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<HookFound>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<ServerState>,
    /// The names of the model keys that are set.
    keys: Vec<&'static str>,
    /// What is written in a project's file and does nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inert: Vec<String>,
    asking: &'static str,
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
    /// Below this level no command runs.
    required: Option<&'static str>,
    network: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    readable: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writable: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    environment: Vec<String>,
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
    source: String,
    /// False when no tool is meant by it.
    speaks: bool,
}

#[derive(Serialize)]
struct ConfigFile {
    #[serde(rename = "file")]
    path: PathBuf,
    layer: Layer,
    rules: usize,
    trust: Trust,
}

/// A hook, and how it took a call that will never be.
#[derive(Serialize)]
struct HookFound {
    name: String,
    state: HookState,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum HookState {
    /// A gate that answered the probe.
    Answers,
    /// A gate that did not: it would block every call it looks at.
    Fails,
    /// An observer: its failure changes nothing, so it is left alone.
    Observes,
    /// Nobody trusts its file.
    Inert,
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
    let flags = config::flags(shared, environment).map_err(&mut note).unwrap_or_default();
    let files = config::sources(shared, environment, &world::working_folder(&roots)).load();
    let files = files.map_err(|bad| note(config::unusable(bad))).unwrap_or_default();
    let parsed = shared
        .mocks
        .iter()
        .filter_map(|path| mocks::open(path).map(|mocks| (path.clone(), mocks)).map_err(&mut note).ok());
    let parsed: Vec<_> = parsed.collect();
    let loaded = if shared.mocks.is_empty() {
        Loaded::definitions(&[]).map_err(&mut note).unwrap_or_default()
    } else {
        Loaded::of(parsed, Wanted::All)
    };
    let asked = Asked::load(&files, environment).map_err(&mut note).ok();
    let sandbox = asked.as_ref().map(Asked::sandbox);
    if let Some(refusal) = sandbox.as_ref().and_then(|sandbox| sandbox.allowed().err()) {
        note(Fault::usage(refusal.reason.clone(), refusal.hint.clone().unwrap_or_default()));
    }
    let results = world::results_folder(shared, environment).and_then(|folder| {
        usable(&folder).map(|()| Results { exists: folder.exists(), folder }).map_err(&mut note).ok()
    });
    let store = Found::look(environment).map_err(&mut note).ok().flatten();
    let rules: Vec<_> = flags
        .iter()
        .map(|rule| Rule {
            text: rule.text().to_owned(),
            source: rule.source().to_owned(),
            speaks: loaded.registry.specs().any(|spec| rule.speaks_of(spec)),
        })
        .collect();
    let mut advice = advice(shared, &loaded, results.is_some(), &rules, !files.rules.is_empty());
    if !files.inert.is_empty() {
        let inert = files.inert.len();
        advice
            .push(format!("{inert} rules of the project do nothing: read its file, then `tollgate trust`."));
    }
    let hooks = Hooks::load(&files, environment).map_err(&mut note).unwrap_or_default();
    let hooks = probe(hooks, &world::working_folder(&roots)).map_err(&mut note).unwrap_or_default();
    for hook in hooks.iter().filter(|hook| hook.state == HookState::Fails) {
        let what = format!("the hook {} fails: {}", hook.name, hook.why.as_deref().unwrap_or_default());
        broken.push(Trouble {
            what,
            hint: "put it right: until then it blocks every call it looks at.".to_owned(),
        });
    }
    for file in asked.iter().flat_map(|asked| &asked.inert) {
        advice.push(format!(
            "what {file} would open in the sandbox stays closed: read it, then `tollgate trust`."
        ));
    }
    if hooks.iter().any(|hook| hook.state == HookState::Inert) {
        advice.push("hooks of the project do nothing: read its file, then `tollgate trust`.".to_owned());
    }
    // What is wrong with a file was noted above; its servers do not start.
    let servers = servers(shared, environment).unwrap_or_default();
    let runs = Settings::load(&files).map_err(|fault| broken.push(fault.into())).unwrap_or_default();
    let keys: Vec<_> = set_keys(environment).collect();
    if keys.is_empty() && runs.model.is_none() && environment.variable("TOLLGATE_MODEL").is_none() {
        advice.push(
            "no model key is set: set ANTHROPIC_API_KEY or OPENAI_API_KEY for `tollgate run`, or use a local \
             model (--model chat:NAME@URL)."
                .to_owned(),
        );
    }
    let config = files.files.iter().map(ConfigFile::from).collect();
    Report {
        version: env!("CARGO_PKG_VERSION"),
        ok: broken.is_empty(),
        roots,
        concurrency,
        results,
        store,
        undo: world::undo_folder(environment),
        sandbox: sandbox.as_ref().zip(asked.as_ref()).map(|(sandbox, asked)| confinement(sandbox, asked)),
        tools: loaded.registry.specs().count(),
        mocks: loaded.files.into_iter().map(File::from).collect(),
        config,
        rules,
        hooks,
        servers,
        keys,
        inert: runs.inert,
        asking: if approver::Asking::new(shared.on_ask, None).is_interactive() {
            "terminal"
        } else {
            "nobody"
        },
        broken,
        advice,
    }
}

/// The MCP servers, of which none is started.
fn servers(shared: &Shared, environment: &Environment) -> Result<Vec<ServerState>, Fault> {
    let scope = world::scope(shared, environment)?;
    let config = config::Config::load(shared, environment, scope.cwd())?;
    Ok(states(&Servers::load(shared, &config, &scope)?, environment))
}

/// Fires every gate once, with a call that will never be.
fn probe(hooks: Hooks, folder: &Path) -> Result<Vec<HookFound>, Fault> {
    if hooks.live.is_empty() && hooks.inert.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let mut found = Vec::new();
    for hook in &hooks.live {
        let (state, why) = match hook.config().kind {
            HookKind::Observer => (HookState::Observes, None),
            HookKind::Gate => match runtime.block_on(hook.probe(folder)) {
                Probed::Answers => (HookState::Answers, None),
                Probed::Fails(why) => (HookState::Fails, Some(why)),
            },
        };
        found.push(HookFound { name: hook.config().name.clone(), state, why });
    }
    let inert =
        |inert: Inert| HookFound { name: inert.name, state: HookState::Inert, why: Some(inert.source) };
    found.extend(hooks.inert.into_iter().map(inert));
    Ok(found)
}

/// The names of the keys that are set; what they hold is nobody's business.
fn set_keys(environment: &Environment) -> impl Iterator<Item = &'static str> + '_ {
    KEYS.iter().map(|(name, ..)| *name).filter(|name| environment.variable(name).is_some())
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self { what: fault.message, hint: fault.hint }
    }
}

impl From<&LoadedFile> for ConfigFile {
    fn from(file: &LoadedFile) -> Self {
        let LoadedFile { path, layer, trust, file } = file;
        Self { path: path.clone(), layer: *layer, rules: file.rules().len(), trust: *trust }
    }
}

impl From<mocks::File> for File {
    fn from(file: mocks::File) -> Self {
        let aside = |one: tollgate::testing::SetAside| Aside { tool: one.what, reason: one.why.to_string() };
        let set_aside = file.set_aside.into_iter().map(aside).collect();
        Self { path: file.path, tools: file.tools, routes: file.routes, set_aside }
    }
}

const CLOSED: &str = "closed";

fn confinement(sandbox: &Sandbox, asked: &Asked) -> Confinement {
    let found = sandbox.found();
    let holds = match found.level {
        Level::L3 if found.inner => {
            "bubblewrap, Landlock and seccomp hold commands: files, network, processes"
        }
        Level::L3 => "bubblewrap and seccomp hold commands: files, network, processes",
        Level::L2 => "Landlock, seccomp and limits hold commands: files, network",
        Level::L1 => "nothing holds commands, so that each one needs a yes",
    };
    let SandboxConfig { required, network, readable, writable, environment } = asked.config.clone();
    Confinement {
        level: found.level.name(),
        holds,
        missing: found.missing.clone(),
        required: required.map(Level::name),
        network: if network == Some(true) { "open to commands that do more than read" } else { CLOSED },
        readable,
        writable,
        environment,
    }
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

fn advice(shared: &Shared, loaded: &Loaded, keeps: bool, rules: &[Rule], files: bool) -> Vec<String> {
    let mut advice = Vec::new();
    if loaded.is_empty() {
        advice.push("no tools are loaded: give --mocks FILE.".to_owned());
    }
    if !keeps && shared.mocks.is_empty() {
        advice.push("what the file tools change cannot be undone: set TOLLGATE_HOME.".to_owned());
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
    if !loaded.is_empty() && rules.is_empty() && !files {
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
        line("rule", &format!("{} {}", rule.source, rule.text));
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
