//! The real program, in a temporary folder, as people and scripts run it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests stop the test where something is not as it must be"
)]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
#[path = "../../../tollgate-mcp/tests/gateway/installed.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod installed;
mod commands;
mod world;
#[expect(dead_code, reason = "the tests of `run` use the rest of it")]
mod person;
mod exit_codes;
mod answers;
mod event_stream;
mod explanations;
mod lines;
mod mocks_files;
mod bad_input;
mod turns;
mod traces;
mod traces_told;
mod schemas;
mod catalogue;
mod health;
mod files;
mod demonstration;
mod policies;
mod terminal;
mod parked;
mod hooks;
mod sandbox;
mod guarded;
mod serving;
mod both_ways;
mod asker;
mod elicited;
mod down_servers;
mod held_servers;
