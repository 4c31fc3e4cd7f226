//! The agent: provider clients, the loop, sub-agents and cassettes.

pub mod model;
pub mod provider;
pub mod price;
#[cfg(feature = "testing")]
pub mod standin;
