//! The file and search tools, through the whole path, on real files.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests stop the test where something is not as it must be"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests start the programs that make odd files, and a second writer"
)]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
mod world;
mod fixture;
mod path_corpus;
mod reading;
mod changing;
mod undoing;
mod searching;
mod bad_input;
mod writers;
