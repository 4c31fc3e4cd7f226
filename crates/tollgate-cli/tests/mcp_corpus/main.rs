//! Hostile servers: each case of the corpus against a real process that does what the case says.
//!
//! `MCP_CORPUS` names another file of cases; `MCP_CASE` picks one.

#![expect(clippy::disallowed_methods, reason = "a test reads which cases it is to run")]

mod server;
mod scene;
mod program;

use std::path::PathBuf;

use serde_json::Value;

fn main() {
    if let Some(folder) = std::env::args().skip_while(|arg| arg != "--play").nth(1) {
        return server::play(&PathBuf::from(folder));
    }
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mcp.jsonl");
    let file = std::env::var("MCP_CORPUS").unwrap_or_else(|_| data.to_owned());
    let only = std::env::var("MCP_CASE").ok();
    let text = std::fs::read_to_string(&file).expect("the corpus");
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
