//! The agent: provider clients, the loop, sub-agents and cassettes.

pub mod model;
