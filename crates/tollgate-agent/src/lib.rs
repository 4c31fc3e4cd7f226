//! The agent: provider clients, the loop, sub-agents and cassettes.

pub mod model;
pub mod provider;
pub mod price;
pub mod cassette;
mod open;
#[cfg(feature = "testing")]
pub mod standin;

pub use open::open;
