//! What a model is offered: tools, registered once, and the snapshot a turn is judged against.

mod registry;
mod snapshot;

pub(crate) use registry::Registered;
#[cfg(feature = "testing")]
pub(crate) use registry::label;
pub use registry::{Registry, RegistryError};
pub use snapshot::Snapshot;
