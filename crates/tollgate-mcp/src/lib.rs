//! MCP, both sides: servers' tools in, the governed pool out.

pub mod gateway;
