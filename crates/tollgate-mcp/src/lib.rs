//! MCP, both sides: servers' tools in, the governed pool out.

mod bell;
mod inbox;
pub mod config;
pub mod client;
pub mod auth;
pub mod bridge;
pub mod gateway;

pub use bridge::{Upstreams, Wanted, Wiring};
pub use config::ServerConfig;
