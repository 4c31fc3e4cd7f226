//! Mock tools from a file: ordinary tools with scripted answers, for tests, evals and `--mocks`.
//!
//! ```json
//! {"routes": {"reading": ["read_file"]},
//!  "tools": [{
//!    "name": "read_file", "description": "Reads a file.",
//!    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
//!    "effects": {"concurrency": "read_only", "read_only": true, "destructive": false, "idempotent": true,
//!                "open_world": false, "touches": [{"path_from": "/path", "access": "read"}]},
//!    "check": [{"pointer": "/path", "not_matches": "\\x00", "message": "a path cannot hold a NUL byte"}],
//!    "answers": [{"when": {"path": "gone.txt"}, "error": "no such file"},
//!                {"retryable": "busy"}, {"text": "hello", "delay_ms": 20}]
//!  }]}
//! ```
//!
//! A `tools/list` reply of an MCP server and the `tools` arrays of Anthropic and `OpenAI` requests load as they
//! are. One bad tool never spoils the rest: it is set aside, with the reason.
//!
//! Mocks are made with [`ToolBuilder`](crate::tool::ToolBuilder) and walk the whole path: nothing here can skip
//! a phase, and what a mock does not declare is the worst case, as for any other tool.

mod file;
mod aside;
mod tool;
mod declared;
mod effects;
mod check;
mod answer;
mod outcome;
mod fields;

pub use aside::{BadMocks, SetAside, Why};
pub use file::Mocks;

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod odd_tests;
