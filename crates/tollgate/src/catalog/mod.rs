//! What a model is offered: tools, registered once, and the snapshot a turn is judged against.

mod bulk;
mod registry;
mod absent;
mod filter;
mod search;
mod deferred;
mod snapshot;
mod offer;
pub mod lint;

pub use absent::Absent;
pub use deferred::{Loaded, ToolSearch, ToolSearchArgs};
pub use filter::Filter;
pub use offer::{Aside, WireOffer};
pub(crate) use registry::Registered;
pub(crate) use registry::label;
pub use registry::{Registry, RegistryError};
pub use search::{Found, Hit, SearchIndex};
pub use snapshot::Snapshot;
