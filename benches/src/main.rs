//! `cargo run --release -p tollgate-benches`: every figure as a ratio to a floor measured in the same run.

#![expect(clippy::expect_used, reason = "a benchmark that cannot set itself up should stop")]

mod table;
mod memory;
mod path;
mod phases;
mod gather;
mod catalog;
mod policy;
mod files;
mod stream;
mod shell;
mod store;
mod run;
mod start;
mod agent;
mod ask;
mod mcp;

fn main() {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(mcp::SERVER) {
        return mcp::serve(&words.next().unwrap_or_default());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    // Processes first: starting one copies the page tables of whatever the others leave behind. Then memory, whose
    // growth that would hide.
    let tables = [
        ("A command line", shell::rows()),
        ("The program", start::rows()),
        ("The agent at a terminal", run::rows()),
        ("Memory", memory::rows(&runtime)),
        ("One call", path::rows(&runtime)),
        ("One call, phase by phase, nobody observes", phases::rows(&runtime)),
        ("A thousand calls of one turn", gather::rows()),
        ("Ten thousand tools", catalog::rows()),
        ("Decisions", policy::rows()),
        ("Files and search", files::rows(&runtime)),
        ("A streamed turn of one megabyte", stream::rows()),
        ("The store (SQLite)", store::rows()),
        ("The loop", agent::rows()),
        ("A question to a model", ask::rows()),
        ("MCP", mcp::rows()),
    ];
    let good = tables.map(|(title, rows)| table::print(title, &rows));
    std::process::exit(i32::from(good.contains(&false)));
}
