//! The gate and the scope of its calls, built from what was given and nothing else.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tollgate::{
    Registry, Scope, Tollgate,
    guard::{Run, TokioSpawner, Workspace},
    outcome::{FolderResults, Offloaded},
    policy::{Decision, Pattern, Rules},
    tool::{Caller, Origin, Route},
};

use crate::{
    args::{Environment, Shared},
    exit::Fault,
    mocks::{Loaded, Wanted},
    store::Recorder,
};

/// Everything a command walks calls through.
pub(crate) struct World {
    pub(crate) gate: Tollgate,
    pub(crate) scope: Arc<Scope>,
    pub(crate) loaded: Loaded,
    pub(crate) recorder: Recorder,
    results: Option<PathBuf>,
}

impl World {
    /// Builds the gate. Inside a runtime, so that bodies run on tasks of it.
    pub(crate) fn build(shared: &Shared, wanted: Wanted<'_>) -> Result<Self, Fault> {
        let environment = Environment::read();
        let cap = concurrency(&environment)?;
        let rules = rules(shared)?;
        let scope = scope(shared)?;
        let loaded = Loaded::load(&shared.mocks, wanted)?;
        let results = results_folder(shared, &environment);

        let mut builder = Tollgate::builder(loaded.registry.clone()).policy(rules).max_concurrency(cap);
        if let (Some(folder), Some(spawner)) = (&results, TokioSpawner::current()) {
            builder = builder.results(FolderResults::new(folder, Arc::new(spawner)));
        }
        let recorder = Recorder::new(shared, &environment)?;
        let gate = recorder.on(builder).build();
        Ok(Self { gate, scope: Arc::new(scope), loaded, recorder, results })
    }

    /// The file that holds the whole of a result that was put aside.
    pub(crate) fn file_of(&self, offloaded: &Offloaded) -> Option<PathBuf> {
        let digits = offloaded.result.as_ref()?.as_str().strip_prefix("sha256:")?;
        self.results.as_ref().map(|folder| folder.join(digits))
    }

    /// The pattern that means exactly the tool that goes by this name.
    pub(crate) fn pattern_of(&self, label: &str) -> String {
        pattern_of(&self.loaded.registry, label)
    }
}

fn pattern_of(registry: &Registry, label: &str) -> String {
    let named = registry.specs().find(|spec| match &spec.id.origin {
        Origin::Builtin => spec.name() == label,
        Origin::Server(server) => spec.name() == label || format!("{server}__{}", spec.name()) == label,
    });
    named.map_or_else(|| label.to_owned(), |spec| spec.id.to_string())
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

/// The rules of the command line, each with the option it came by.
pub(crate) fn rules(shared: &Shared) -> Result<Rules, Fault> {
    let mut rules = Rules::new();
    for (option, decision, given) in given_rules(shared) {
        rules = rules.rule(decision, given, option).map_err(|error| {
            let hint = "a rule is a tool's name, a glob as `rea*`, `@server` or `@server/get_*`.";
            Fault::usage(format!("{option} {given:?} is no rule: {error}"), hint)
        })?;
    }
    Ok(rules)
}

/// Every rule that was given: its option, what it decides, its text.
pub(crate) fn given_rules(shared: &Shared) -> impl Iterator<Item = (&'static str, Decision, &str)> {
    let kinds = [
        ("--deny", Decision::Deny, &shared.deny),
        ("--ask", Decision::Ask, &shared.ask),
        ("--allow", Decision::Allow, &shared.allow),
    ];
    kinds
        .into_iter()
        .flat_map(|(option, decision, rules)| rules.iter().map(move |rule| (option, decision, rule.as_str())))
}

/// True when the rule speaks of at least one of the tools.
pub(crate) fn speaks(rule: &str, registry: &Registry) -> bool {
    Pattern::parse(rule).is_ok_and(|pattern| registry.specs().any(|spec| pattern.matches(spec)))
}

fn scope(shared: &Shared) -> Result<Scope, Fault> {
    let roots = roots(shared)?;
    let mut scope = Scope::new(Run::new(run_id()), Workspace::with_roots(working_folder(&roots), roots));
    scope.route = shared.route.as_ref().map(Route::new);
    if let Some(caller) = &shared.caller {
        scope.caller = Caller::new(caller);
    }
    Ok(scope)
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
fn working_folder(roots: &[PathBuf]) -> PathBuf {
    let here = Path::new(".").canonicalize().ok();
    let inside = here.filter(|here| roots.iter().any(|root| here.starts_with(root)));
    inside.or_else(|| roots.first().cloned()).unwrap_or_default()
}

/// Where long results are kept; `None` when nothing says where a person's files are.
pub(crate) fn results_folder(shared: &Shared, environment: &Environment) -> Option<PathBuf> {
    shared.results.clone().or_else(|| home(environment).map(|folder| folder.join("results")))
}

/// Our folder among the person's files; `None` when nothing says where those are.
pub(crate) fn home(environment: &Environment) -> Option<PathBuf> {
    let Environment { tollgate_home, data_home, home, .. } = environment;
    let of_person = || match data_home {
        // The specification says that a relative one is to be ignored.
        Some(data) if data.is_absolute() => Some(data.clone()),
        _ => home.as_ref().map(|home| home.join(".local/share")),
    };
    tollgate_home.clone().or_else(|| of_person().map(|data| data.join("tollgate")))
}

/// An id no other run of this machine has.
fn run_id() -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("cli-{:x}-{:x}", now.as_millis(), std::process::id())
}
