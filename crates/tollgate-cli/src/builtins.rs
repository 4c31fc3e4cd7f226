//! The built-in tools. They are there unless mocks take their place: with `--mocks` nothing real can happen.

use std::{path::Path, sync::Arc};

use tollgate::{Registry, catalog::RegistryError};
use tollgate_tools::{
    command::Shell,
    files::Files,
    journal::Journal,
    process::Environment as ChildEnvironment,
    sandbox::{Level, Sandbox},
    search::Search,
};

use crate::{args::Environment, exit::Fault, mocks::Wanted, world};

/// True for a file that a search of its folder must leave out.
pub(crate) type Withheld = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// What holds the built-in tools.
pub(crate) struct Held {
    pub(crate) sandbox: Sandbox,
    pub(crate) withheld: Withheld,
}

/// The built-in tools a command needs.
pub(crate) fn registry(wanted: Wanted<'_>, held: Held) -> Result<Registry, Fault> {
    let Held { sandbox, withheld } = held;
    let shell = shell(sandbox);
    let search = Search::new().withholding(move |path| withheld(path));
    let register = |only| register(&shell, &search, only);
    let registered = match wanted {
        Wanted::Tool(name) => match register(Some(name)) {
            // A name nobody has: all names are needed, to say which one is near.
            Ok(registry) if registry.specs().next().is_none() => register(None),
            registered => registered,
        },
        Wanted::All => register(None),
    };
    registered.map_err(|error| {
        Fault::input(format!("the built-in tools cannot be used: {error}"), "please report this.")
    })
}

fn register(shell: &Arc<Shell>, search: &Search, only: Option<&str>) -> Result<Registry, RegistryError> {
    let registry = shell.register(Registry::new(), only)?;
    let registry = Files::new(journal()).register(registry, only)?;
    search.register(registry, only)
}

/// The shell tools, with what a child may know of our environment.
fn shell(sandbox: Sandbox) -> Arc<Shell> {
    let environment = Environment::read();
    let children = ChildEnvironment::of(environment.variables.iter().cloned(), [""; 0]);
    Shell::in_sandbox(children, environment.home, sandbox)
}

/// The best sandbox of this machine, and the level below which nothing runs.
pub(crate) fn sandbox(environment: &Environment) -> Result<Sandbox, Fault> {
    let Some(given) = &environment.sandbox_required else { return Ok(Sandbox::probed()) };
    let level = given.to_str().and_then(Level::parse).ok_or_else(|| {
        let message = format!("TOLLGATE_SANDBOX_REQUIRED is {}, which is no level", given.display());
        Fault::usage(message, "set it to L1, L2 or L3, or unset it.")
    })?;
    Ok(Sandbox::probed().required(level))
}

/// What the tools changed, in the folder of the person's own data.
pub(crate) fn journal() -> Option<Journal> {
    world::undo_folder(&Environment::read()).map(Journal::at)
}
