//! Models asked over real HTTP on loopback, cassettes, and the rules of the stand-in that judges the requests.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
mod support;
mod rules;
mod asks;
mod faults;
mod retries;
mod streams;
mod cassettes;
mod recorded;
