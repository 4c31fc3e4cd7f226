//! MCP, both sides: servers' tools in, the governed pool out.

pub mod config;
pub mod client;
pub mod auth;
