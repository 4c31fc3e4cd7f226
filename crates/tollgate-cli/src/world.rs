//! The gate and the scope of its calls, built from what was given and nothing else.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use tollgate::{
    Effects, Registry, Scope, Tollgate, ToolSpec,
    guard::{Run, TokioSpawner, Workspace},
    outcome::{FolderResults, Offloaded},
    policy::{Approver, Desk, Digest, Layers, Policy as _, Query, Stance},
    tool::{Caller, Isolation, Origin, Route},
};

use crate::{
    approver::{Asking, FolderDesk},
    args::{Environment, Shared},
    builtins::{self, Held, Withheld},
    config::{self, Config},
    exit::Fault,
    hooks::Hooks,
    mocks::{Loaded, Wanted},
    store::Recorder,
};

/// Everything a command walks calls through.
pub(crate) struct World {
    pub(crate) gate: Tollgate,
    pub(crate) scope: Arc<Scope>,
    pub(crate) loaded: Loaded,
    pub(crate) config: Config,
    pub(crate) recorder: Recorder,
    results: Option<PathBuf>,
}

impl World {
    /// Builds the gate. Inside a runtime, so that bodies run on tasks of it.
    pub(crate) fn build(shared: &Shared, wanted: Wanted<'_>) -> Result<Self, Fault> {
        let asking = Asking::new(shared.on_ask, desk(&Environment::read()));
        let interactive = asking.is_interactive();
        Self::build_asking(shared, wanted, asking, interactive)
    }

    /// The same, with somebody else to ask.
    pub(crate) fn build_asking(
        shared: &Shared,
        wanted: Wanted<'_>,
        asking: impl Approver,
        interactive: bool,
    ) -> Result<Self, Fault> {
        let environment = Environment::read();
        let cap = concurrency(&environment)?;
        let mut scope = scope(shared)?;
        let config = Config::load(shared, &environment, scope.cwd())?;
        scope.protection = config.protection();
        scope.interactive = interactive;
        let hooks = Hooks::load(&config.loaded, &environment)?;
        hooks.tell_inert();
        let sandbox = builtins::sandbox(&environment)?;
        if shared.mocks.is_empty() {
            let found = sandbox.clone();
            scope.sandbox =
                Isolation::found_by(move || format!("{} for commands", found.level().name()).into());
        }
        let scope = Arc::new(scope);
        let held = Held { sandbox, withheld: withheld(&config.policy, &scope) };
        let loaded = Loaded::load(&shared.mocks, wanted, held)?;
        let results = results_folder(shared, &environment);

        let mut builder = Tollgate::builder(loaded.registry.clone())
            .policy(config.policy.clone())
            .approver(asking)
            .max_concurrency(cap);
        for hook in hooks.live {
            builder = builder.hook(hook);
        }
        if let (Some(folder), Some(spawner)) = (&results, TokioSpawner::current()) {
            builder = builder.results(FolderResults::new(folder, Arc::new(spawner)));
        }
        let recorder = Recorder::new(shared, &environment)?;
        let gate = recorder.on(builder).build();
        Ok(Self { gate, scope, loaded, config, recorder, results })
    }

    /// The file that holds the whole of a result that was put aside.
    pub(crate) fn file_of(&self, offloaded: &Offloaded) -> Option<PathBuf> {
        let digits = offloaded.result.as_ref()?.as_str().strip_prefix("sha256:")?;
        self.results.as_ref().map(|folder| folder.join(digits))
    }

    /// The tool that goes by this name.
    pub(crate) fn spec(&self, label: &str) -> Option<&ToolSpec> {
        named(&self.loaded.registry, label)
    }
}

fn named<'a>(registry: &'a Registry, label: &str) -> Option<&'a ToolSpec> {
    registry.specs().find(|spec| match &spec.id.origin {
        Origin::Builtin => spec.name() == label || spec.aliases.iter().any(|alias| alias.as_str() == label),
        Origin::Server(server) => spec.name() == label || format!("{server}__{}", spec.name()) == label,
    })
}

/// The largest number of calls at once that anyone could mean.
const MOST_AT_ONCE: usize = 10_000;

/// How many calls of a batch run at once.
pub(crate) fn concurrency(environment: &Environment) -> Result<usize, Fault> {
    let Some(given) = &environment.max_concurrency else { return Ok(tollgate::DEFAULT_CONCURRENCY) };
    let number = given.to_str().and_then(|text| text.trim().parse().ok());
    number.filter(|number| (1..=MOST_AT_ONCE).contains(number)).ok_or_else(|| {
        let message = format!("TOLLGATE_MAX_CONCURRENCY is {}, which is no number of calls", given.display());
        Fault::usage(message, format!("set it to a number from 1 to {MOST_AT_ONCE}, or unset it."))
    })
}

/// Every rule of the command line: its option, what it does, its text. What a person lets run there is a grant.
pub(crate) fn given_rules(shared: &Shared) -> impl Iterator<Item = (&'static str, Stance, &str)> {
    let kinds = [
        ("--deny", Stance::Deny, &shared.deny),
        ("--ask", Stance::Ask, &shared.ask),
        ("--allow", Stance::Grant, &shared.allow),
    ];
    kinds
        .into_iter()
        .flat_map(|(option, stance, rules)| rules.iter().map(move |rule| (option, stance, rule.as_str())))
}

pub(crate) fn scope(shared: &Shared) -> Result<Scope, Fault> {
    let roots = roots(shared)?;
    let mut scope = Scope::new(Run::new(run_id()), Workspace::with_roots(working_folder(&roots), roots));
    scope.route = shared.route.as_ref().map(Route::new);
    if let Some(caller) = &shared.caller {
        scope.caller = Caller::new(caller);
    }
    for given in &shared.approve {
        let digest = Digest::parse(given).ok_or_else(|| {
            let hint = "copy it from the refusal of the call: 64 hexadecimal digits.";
            Fault::usage(format!("--approve {given:?} is no digest"), hint)
        })?;
        scope.approvals.grant(digest);
    }
    Ok(scope)
}

/// Files that a search of their folder leaves out: what the rules say of reading one is stricter than what they say
/// of the search itself.
fn withheld(policy: &Layers, scope: &Arc<Scope>) -> Withheld {
    let (policy, scope) = (policy.clone(), scope.clone());
    let Ok(mut search) = ToolSpec::new("grep", "", json!({"type": "object"})) else {
        return Box::new(|_| true);
    };
    search.requires_permission = false;
    Box::new(move |path| {
        let says =
            |effects: &Effects| policy.decide(&Query::new(&search, &Value::Null, effects, &scope)).decision;
        says(&Effects::reading().reads(path)) > says(&Effects::reading())
    })
}

/// The folders calls may touch, with every link resolved.
pub(crate) fn roots(shared: &Shared) -> Result<Vec<PathBuf>, Fault> {
    let here = [PathBuf::from(".")];
    let given = if shared.root.is_empty() { &here[..] } else { &shared.root[..] };
    given.iter().map(|root| root_of(root)).collect()
}

fn root_of(given: &Path) -> Result<PathBuf, Fault> {
    let hint = "give --root a folder that exists.";
    let root = given.canonicalize();
    match root {
        Ok(root) if root.is_dir() => Ok(root),
        Ok(_) => Err(Fault::usage(format!("the root {} is not a folder", given.display()), hint)),
        Err(error) => {
            Err(Fault::usage(format!("the root {} cannot be used: {error}", given.display()), hint))
        }
    }
}

/// Where relative paths start: the current folder, or the first root where the current one is outside them all.
pub(crate) fn working_folder(roots: &[PathBuf]) -> PathBuf {
    let here = Path::new(".").canonicalize().ok();
    let inside = here.filter(|here| roots.iter().any(|root| here.starts_with(root)));
    inside.or_else(|| roots.first().cloned()).unwrap_or_default()
}

/// Where questions wait for a person; `None` when nothing says where a person's files are.
pub(crate) fn desk(environment: &Environment) -> Option<Arc<dyn Desk>> {
    let folder = config::data_folder(environment)?.join("approvals");
    Some(Arc::new(FolderDesk::new(folder)))
}

/// Where long results are kept; `None` when nothing says where a person's files are.
pub(crate) fn results_folder(shared: &Shared, environment: &Environment) -> Option<PathBuf> {
    shared.results.clone().or_else(|| config::data_folder(environment).map(|folder| folder.join("results")))
}

/// Where what the file tools change is kept; `None` when nothing says where a person's files are.
pub(crate) fn undo_folder(environment: &Environment) -> Option<PathBuf> {
    config::data_folder(environment).map(|folder| folder.join("undo"))
}

/// An id no other run of this machine has.
fn run_id() -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("cli-{:x}-{:x}", now.as_millis(), std::process::id())
}
