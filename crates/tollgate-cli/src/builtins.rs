//! The built-in tools. They are there unless mocks take their place: with `--mocks` nothing real can happen.

use tollgate::{Registry, catalog::RegistryError};
use tollgate_tools::{command::Shell, files::Files, journal::Journal, search::Search};

use crate::{args::Environment, exit::Fault, mocks::Wanted, world};

/// The built-in tools a command needs.
pub(crate) fn registry(wanted: Wanted<'_>) -> Result<Registry, Fault> {
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

fn register(only: Option<&str>) -> Result<Registry, RegistryError> {
    let registry = shell().register(Registry::new(), only)?;
    let registry = Files::new(journal()).register(registry, only)?;
    Search::new().register(registry, only)
}

/// The shell tools, with what a child may know of our environment.
pub(crate) fn shell() -> std::sync::Arc<Shell> {
    let Environment { home, .. } = Environment::read();
    Shell::new(tollgate_tools::process::Environment::of(std::env::vars_os(), [""; 0]), home)
}

/// What the tools changed, in the folder of the person's own data.
pub(crate) fn journal() -> Option<Journal> {
    world::undo_folder(&Environment::read()).map(Journal::at)
}
