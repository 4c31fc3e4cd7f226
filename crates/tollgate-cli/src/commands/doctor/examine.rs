//! Everything is looked at; what is broken keeps nothing else from being seen.

use std::path::Path;

use tollgate::hook::HookKind;
use tollgate_tools::hook_command::Probed;

use super::{
    advice::advice,
    report::{ConfigFile, File, HookFound, HookState, Report, Results, Rule, Trouble, confinement},
};
use crate::{
    approver,
    args::{Environment, Shared},
    commands::mcp::state::{ServerState, states},
    config,
    exit::Fault,
    hooks::{Hooks, Inert},
    mocks::{self, Loaded, Wanted},
    run::{model::KEYS, settings::Settings},
    sandbox::Asked,
    servers::Servers,
    store::Found,
    world,
};

/// Looks at everything; what is broken is noted, and the rest is looked at all the same.
pub(super) fn examine(shared: &Shared, environment: &Environment) -> Report {
    let mut broken = Vec::new();
    let mut note = |fault: Fault| broken.push(Trouble { what: fault.message, hint: fault.hint });
    let roots = world::roots(shared).map_err(&mut note).unwrap_or_default();
    let concurrency = world::concurrency(environment).map_err(&mut note).ok();
    let flags = config::flags(shared, environment).map_err(&mut note).unwrap_or_default();
    let files = config::sources(shared, environment, &world::working_folder(&roots)).load();
    let files = files.map_err(|bad| note(config::unusable(bad))).unwrap_or_default();
    let parsed = shared.mocks.iter().filter_map(|path| mocks::open(path).map_err(&mut note).ok());
    let parsed: Vec<_> = parsed.collect();
    let loaded = if shared.mocks.is_empty() {
        Loaded::definitions(&[]).map_err(&mut note).unwrap_or_default()
    } else {
        Loaded::of(parsed, Wanted::All)
    };
    // It may stand in a file that could not be read.
    if loaded.files.len() == shared.mocks.len() {
        loaded.must_have(shared.route.as_deref()).map_err(&mut note).ok();
    }
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
            reference: rule.reference(),
            given: rule.text().to_owned(),
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
    let runs = Settings::load(&files).map_err(|fault| broken.push(fault.into())).unwrap_or_default();
    let servers = servers(shared, environment).map_err(|fault| {
        // What keeps servers from being looked at may be what was noted above.
        if !broken.iter().any(|known| known.what == fault.message) {
            broken.push(fault.into());
        }
    });
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
        servers: servers.unwrap_or_default(),
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
    let config = config::Config::rules(shared, environment, scope.cwd())?;
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
