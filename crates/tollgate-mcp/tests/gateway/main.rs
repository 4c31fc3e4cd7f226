//! The server side of MCP, driven from outside: over pipes and over HTTP, in both generations, by scripted and by real
//! clients.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "helpers of tests fail as loudly as tests, and are given what is written on the spot"
)]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
mod world;
mod fixtures;
mod pipes;
mod web;
mod asked;
mod many;
mod bad_input;
mod doors;
mod installed;
mod scenarios;
mod conformance;
mod real_clients;
