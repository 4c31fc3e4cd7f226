//! The path of a call: its order, who may look when, what each phase refuses, and that nothing goes around it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

mod answers;
mod hooks;
mod order;
mod panics;
mod dropped;
mod permission;
mod permitted;
mod rewrites;
#[path = "../world/mod.rs"]
mod world;
