//! The built-in tools. They are there unless mocks take their place: with `--mocks` nothing real can happen.

use std::sync::Arc;

use tollgate::{
    BoxFuture, Registry,
    catalog::RegistryError,
    outcome::{Label, Opened, Part, ResultRef, ResultStore, StoreFault},
    tool::Caller,
};
use tollgate_store::ResultRead;
use tollgate_tools::{
    command::{Guard, Lasts, Reading, Shell},
    files::Files,
    journal::Journal,
    process::Environment as ChildEnvironment,
    sandbox::Sandbox,
    search::Search,
};

use crate::{args::Environment, exit::Fault, mocks::Wanted, world};

/// What holds the built-in tools.
pub(crate) struct Held {
    pub(crate) sandbox: Sandbox,
    pub(crate) guard: Guard,
    /// Variables that commands get beside the usual ones.
    pub(crate) environment: Vec<String>,
    /// Reads long results, where they are kept.
    pub(crate) reader: Option<ResultRead>,
}

/// In the place of a store, where tools are only looked at.
struct Nowhere;

impl ResultStore for Nowhere {
    fn keep(&self, _: Arc<str>, _: Label) -> BoxFuture<'_, Result<ResultRef, StoreFault>> {
        Box::pin(async { Err(StoreFault::Missing("nothing is kept here".to_owned())) })
    }

    fn read<'a>(
        &'a self,
        result: &'a ResultRef,
        _: &'a Caller,
        _: Part,
    ) -> BoxFuture<'a, Result<String, StoreFault>> {
        Box::pin(async { Err(StoreFault::Missing(result.as_str().to_owned())) })
    }

    fn open(&self, result: &ResultRef, _: &Caller) -> Result<Opened, StoreFault> {
        Err(StoreFault::Missing(result.as_str().to_owned()))
    }
}

impl Held {
    /// For a command that only looks at definitions: nothing is run or searched.
    pub(crate) fn definitions() -> Self {
        let reader = Some(ResultRead::new(Nowhere));
        Self { sandbox: Sandbox::probed(), guard: Guard::open(), environment: Vec::new(), reader }
    }
}

/// The built-in tools a command needs.
pub(crate) fn registry(wanted: Wanted<'_>, held: Held) -> Result<Registry, Fault> {
    let guard = held.guard.clone();
    let search = Search::new().withholding(move |scope, path| guard.says(scope, path) > Reading::Allowed);
    let files = Files::guarded(journal(), held.guard.clone());
    let reader = held.reader.clone();
    let shell = shell(held, wanted);
    let register = |only| {
        let registry = register(&shell, &files, &search, only)?;
        with_reader(registry, reader.as_ref(), only)
    };
    let registered = match wanted {
        Wanted::Tool(name) => match register(Some(name)) {
            // A name nobody has: all names are needed, to say which one is near.
            Ok(registry) if registry.specs().next().is_none() => register(None),
            registered => registered,
        },
        Wanted::Turn | Wanted::All => register(None),
    };
    registered.map_err(|error| {
        Fault::input(format!("the built-in tools cannot be used: {error}"), "please report this.")
    })
}

fn register(
    shell: &Arc<Shell>,
    files: &Arc<Files>,
    search: &Search,
    only: Option<&str>,
) -> Result<Registry, RegistryError> {
    let registry = shell.register(Registry::new(), only)?;
    let registry = files.register(registry, only)?;
    search.register(registry, only)
}

/// What is too long for a model is put aside, so it gets the tool that reads it.
fn with_reader(
    registry: Registry,
    reader: Option<&ResultRead>,
    only: Option<&str>,
) -> Result<Registry, RegistryError> {
    match reader {
        Some(reader) if only.is_none_or(|only| only == READER) => registry.with(reader.clone()),
        _ => Ok(registry),
    }
}

/// The tool that reads long results.
pub(crate) const READER: &str = "result_read";

/// The shell tools, with what a child may know of our environment.
fn shell(held: Held, wanted: Wanted<'_>) -> Arc<Shell> {
    let environment = Environment::read();
    let children = ChildEnvironment::of(environment.variables.iter().cloned(), &held.environment);
    // A program that was started for one call, or for one turn, ends with it.
    let lasts = match wanted {
        Wanted::Tool(_) => Lasts::Call,
        Wanted::Turn => Lasts::Turn,
        Wanted::All => Lasts::Session,
    };
    Shell::lasting(children, environment.home, held.sandbox, held.guard, lasts)
}

/// What the tools changed, in the folder of the person's own data.
pub(crate) fn journal() -> Option<Journal> {
    world::undo_folder(&Environment::read()).map(Journal::at)
}
