//! The agent from outside: a strict stand-in for the three APIs on one side, a gate with small tools on the other.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails as loudly as it can")]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
mod world;
mod turns;
mod trouble;
mod interrupts;
mod resume;
mod limits;
mod sub_agents;
mod room;
mod recorded;
mod fuzzed;
