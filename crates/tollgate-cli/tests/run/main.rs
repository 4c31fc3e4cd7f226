//! `tollgate run`, the real program: at a pseudo-terminal and headless, against a strict stand-in on loopback.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests stop the test where something is not as it must be"
)]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
#[path = "../cli/world.rs"]
#[expect(dead_code, reason = "the other tests use the rest of it")]
mod world;
#[path = "../cli/person.rs"]
#[expect(dead_code, reason = "the other tests use the rest of it")]
mod person;
#[path = "../cli/asker.rs"]
mod asker;
mod api;
#[path = "../../src/run/screen/emulator.rs"]
mod emulator;
mod at_the_terminal;
mod interrupts;
mod resuming;
mod headless;
mod bad_input;
mod files;
mod cassettes;
