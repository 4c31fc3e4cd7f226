//! The built-in tools. They are there unless mocks take their place: with `--mocks` nothing real can happen.

use std::sync::Arc;

use tollgate::{Registry, catalog::RegistryError};
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
}

impl Held {
    /// For a command that only looks at definitions: nothing is run or searched.
    pub(crate) fn definitions() -> Self {
        Self { sandbox: Sandbox::probed(), guard: Guard::open(), environment: Vec::new() }
    }
}

/// The built-in tools a command needs.
pub(crate) fn registry(wanted: Wanted<'_>, held: Held) -> Result<Registry, Fault> {
    let guard = held.guard.clone();
    let search = Search::new().withholding(move |scope, path| guard.says(scope, path) > Reading::Allowed);
    let files = Files::guarded(journal(), held.guard.clone());
    let shell = shell(held, wanted);
    let register = |only| register(&shell, &files, &search, only);
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
