//! Servers' tools as ordinary tools of the path: read one by one, pinned, made safe to show, and called.

mod poison;
mod definition;
mod diff;
mod pins;
mod answer;
mod life;
mod listing;
mod upstream;
mod call;
mod tool;
mod pool;

pub use life::Health;
pub use pins::{PinFault, PinStore};
pub use pool::{LauncherOf, Registered, ServerStatus, SetAside, ToolStatus, Upstreams, Wanted, Wiring};
pub use upstream::Standing;
