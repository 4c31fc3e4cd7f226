//! A model by the name people type: a client, or a cassette.

use std::{path::Path, sync::Arc};

use crate::{
    cassette::{Cassette, Places},
    model::{Model, ModelError},
    price::Models,
    provider::{Client, Settings},
};

/// The model of this name: `anthropic:MODEL`, `openai:MODEL`, `chat:MODEL@URL` or `cassette:FILE`.
///
/// Connects to nothing. A name, an address or a cassette that cannot be used is told here, a missing key when the
/// model is asked.
pub fn open(
    name: &str,
    settings: Settings,
    models: &Models,
    places: Places,
) -> Result<Arc<dyn Model>, ModelError> {
    if let Some(file) = name.trim().strip_prefix("cassette:") {
        return Ok(Arc::new(Cassette::open(Path::new(file), places)?));
    }
    Ok(Arc::new(Client::new(name.parse()?, settings, models)?))
}
