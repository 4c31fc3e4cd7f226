//! Hostile servers: each case of the corpus against a real process that does what the case says.
//!
//! `MCP_CORPUS` names another file of cases; `MCP_CASE` picks one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::match_bool,
    clippy::unused_self,
    clippy::cast_possible_truncation,
    clippy::struct_excessive_bools,
    clippy::type_complexity,
    clippy::semicolon_if_nothing_returned,
    clippy::redundant_closure_for_method_calls,
    clippy::to_string_in_format_args,
    reason = "a test that cannot go on ends there, and reads as it is told"
)]
#![expect(clippy::disallowed_methods, reason = "a test reads which cases it is to run")]

mod server;
mod judge;
mod scene;
mod program;

use std::path::PathBuf;

use serde_json::Value;

fn main() {
    if let Some(folder) = std::env::args().skip_while(|arg| arg != "--play").nth(1) {
        return server::play(&PathBuf::from(folder));
    }
    // The first set came with the task the program is for; the second was written against the program itself.
    let sets = ["mcp.jsonl", "mcp_second.jsonl"]
        .map(|set| format!("{}/tests/data/{set}", env!("CARGO_MANIFEST_DIR")));
    let sets = std::env::var("MCP_CORPUS").map_or_else(|_| sets.to_vec(), |other| vec![other]);
    let only = std::env::var("MCP_CASE").ok();
    let text: String = sets.iter().map(|set| std::fs::read_to_string(set).expect("the corpus")).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let (mut ran, mut failed) = (0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let id = case["id"].as_str().expect("an id");
        if only.as_deref().is_some_and(|only| only != id) {
            continue;
        }
        ran += 1;
        let began = std::time::Instant::now();
        let wrong = runtime.block_on(scene::play(&case));
        let took = began.elapsed().as_millis();
        if wrong.is_empty() {
            println!("ok     {id} {} ({took} ms)", case["label"].as_str().unwrap_or_default());
        } else {
            failed += 1;
            println!("FAILED {id} {} ({took} ms): {}", case["label"], case["why"]);
            wrong.iter().for_each(|wrong| println!("         {wrong}"));
        }
    }
    println!("{ran} cases, {failed} not as labelled");
    assert!(ran > 0, "no case was run");
    if only.is_none() {
        program::run();
    }
    std::process::exit(i32::from(failed > 0));
}
