//! `cargo run --release -p tollgate-benches`: every figure as a ratio to a floor measured in the same run.

#![expect(clippy::expect_used, reason = "a benchmark that cannot set itself up should stop")]

mod table;
mod memory;
mod path;
mod gather;
mod catalog;
mod store;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    // Memory first: what the others leave behind would hide its growth.
    let tables = [
        ("Memory", memory::rows(&runtime)),
        ("One call", path::rows(&runtime)),
        ("A thousand calls of one turn", gather::rows()),
        ("Ten thousand tools", catalog::rows()),
        ("The store (SQLite)", store::rows()),
    ];
    let good = tables.map(|(title, rows)| table::print(title, &rows));
    std::process::exit(i32::from(good.contains(&false)));
}
