//! Any bytes as a stream of this provider, in any chunks.

#![no_main]

#[path = "../harness.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| harness::survives(tollgate::wire::Provider::Anthropic, bytes));
