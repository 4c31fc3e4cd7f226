//! The gate and the scope of its calls, built from what was given and nothing else.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tollgate::{
    Registry, Scope, Tollgate, ToolSpec,
    guard::{Run, TokioSpawner, TraceParent, Workspace},
    outcome::{FolderResults, Offloaded},
    policy::{Approver, Desk, Digest, Stance},
    tool::{Caller, Isolation, Origin, Route},
};
use tollgate_store::{LazyStore, ResultRead};

use crate::{
    approver::{Asking, Desks, FolderDesk, Terminal},
    args::{Environment, Shared},
    builtins::Held,
    config::{self, Config},
    exit::Fault,
    hooks::Hooks,
    mocks::{Loaded, Wanted},
    sandbox::{self, Asked},
    store::Recorder,
};

/// Everything a command walks calls through.
pub(crate) struct World {
    pub(crate) gate: Tollgate,
    pub(crate) scope: Arc<Scope>,
    pub(crate) loaded: Loaded,
    pub(crate) config: Config,
    pub(crate) recorder: Recorder,
    /// Where a person can be asked.
    pub(crate) terminal: Option<Terminal>,
    results: Option<PathBuf>,
}

impl World {
    /// Builds the gate. Inside a runtime, so that bodies run on tasks of it.
    pub(crate) fn build(shared: &Shared, wanted: Wanted<'_>) -> Result<Self, Fault> {
        Self::build_with(shared, wanted, Ok)
    }

    /// The same, with tools beside those that are always there.
    pub(crate) fn build_with(
        shared: &Shared,
        wanted: Wanted<'_>,
        more: impl FnOnce(Registry) -> Result<Registry, Fault>,
    ) -> Result<Self, Fault> {
        let environment = Environment::read();
        let recorder = Recorder::new(shared, &environment)?;
        let asking = Asking::new(shared.on_ask, desk(&environment, recorder.store()));
        let (terminal, interactive) = (asking.terminal().cloned(), asking.is_interactive());
        let world = Self::assemble(shared, &environment, wanted, recorder, (asking, interactive), more)?;
        Ok(Self { terminal, ..world })
    }

    /// The same, with somebody else to ask, who is told where questions can wait.
    pub(crate) fn build_asking<A: Approver + Clone>(
        shared: &Shared,
        wanted: Wanted<'_>,
        asking: impl FnOnce(Option<Arc<dyn Desk>>) -> A,
    ) -> Result<(Self, A), Fault> {
        let environment = Environment::read();
        let recorder = Recorder::new(shared, &environment)?;
        let asking = asking(desk(&environment, recorder.store()));
        let world = Self::assemble(shared, &environment, wanted, recorder, (asking.clone(), false), Ok)?;
        Ok((world, asking))
    }

    fn assemble(
        shared: &Shared,
        environment: &Environment,
        wanted: Wanted<'_>,
        recorder: Recorder,
        (asking, interactive): (impl Approver, bool),
        more: impl FnOnce(Registry) -> Result<Registry, Fault>,
    ) -> Result<Self, Fault> {
        let cap = concurrency(environment)?;
        let mut scope = scope(shared, environment)?;
        tollgate_tools::sandbox::sweep(scope.roots());
        let config = Config::load(shared, environment, scope.cwd())?;
        scope.protection = config.protection();
        scope.interactive = interactive;
        let hooks = Hooks::load(&config.loaded, environment)?;
        hooks.tell_inert();
        let asked = Asked::load(&config.loaded, environment)?;
        asked.tell_inert();
        let sandbox = asked.sandbox();
        if shared.mocks.is_empty() {
            let found = sandbox.clone();
            scope.sandbox = Isolation::found_by(move || found.word().into());
        }
        let scope = Arc::new(scope);
        let guard = sandbox::guard(&config);
        let results = results_folder(shared, environment);
        let kept = results.clone().zip(TokioSpawner::current());
        let kept = kept.map(|(folder, spawner)| FolderResults::new(folder, Arc::new(spawner)));
        let reader = kept.clone().map(ResultRead::new);
        let held = Held { sandbox, guard, environment: asked.config.environment, reader };
        let mut loaded = Loaded::load(&shared.mocks, wanted, held)?;
        loaded.must_have(shared.route.as_deref())?;
        loaded.registry = more(loaded.registry)?;

        let mut builder = Tollgate::builder(loaded.registry.clone())
            .policy(config.policy.clone())
            .approver(asking)
            .max_concurrency(cap);
        for hook in hooks.live {
            builder = builder.hook(hook);
        }
        if let Some(kept) = kept {
            builder = builder.results(kept);
        }
        let gate = recorder.on(builder).build();
        Ok(Self { gate, scope, loaded, config, recorder, terminal: None, results })
    }

    /// Where long results are kept, for whoever puts more of them aside.
    pub(crate) fn results(&self) -> Option<FolderResults> {
        Some(FolderResults::new(self.results.as_ref()?, Arc::new(TokioSpawner::current()?)))
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

/// The tool of a registry that goes by this name.
pub(crate) fn named<'a>(registry: &'a Registry, label: &str) -> Option<&'a ToolSpec> {
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

pub(crate) fn scope(shared: &Shared, environment: &Environment) -> Result<Scope, Fault> {
    let roots = roots(shared)?;
    let mut scope =
        Scope::new(traced(run_id(), environment), Workspace::with_roots(working_folder(&roots), roots));
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

/// A run that is a part of the trace the environment names. What is no `traceparent` is passed over, as the
/// specification says: it never stops a program.
pub(crate) fn traced(id: impl AsRef<str>, environment: &Environment) -> Run {
    let run = Run::builder(id);
    match environment.traceparent.as_ref().and_then(|text| TraceParent::parse(text.to_str()?)) {
        Some(under) => run.traced(under).build(),
        None => run.build(),
    }
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
///
/// In the store, where calls are recorded; in a folder of its own, where they are not. Both are looked into.
pub(crate) fn desk(environment: &Environment, store: Option<&LazyStore>) -> Option<Arc<dyn Desk>> {
    let folder: Arc<dyn Desk> =
        Arc::new(FolderDesk::new(config::data_folder(environment)?.join("approvals")));
    Some(match store {
        Some(store) => Arc::new(Desks::new(Arc::new(store.clone()), [folder])),
        None => folder,
    })
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
