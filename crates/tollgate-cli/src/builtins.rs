//! The built-in tools. They are there unless mocks take their place: with `--mocks` nothing real can happen.

use tollgate::{Registry, catalog::RegistryError};
use tollgate_tools::{files::Files, journal::Journal, search::Search};

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
    let files = Files::new(journal());
    let registry = files.register(Registry::new(), only)?;
    let registry = Search::new().register(registry, only)?;
    Ok(registry)
}

/// What the tools changed, in the folder of the person's own data.
pub(crate) fn journal() -> Option<Journal> {
    world::undo_folder(&Environment::read()).map(Journal::at)
}
