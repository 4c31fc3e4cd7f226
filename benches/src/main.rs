//! `cargo run --release -p tollgate-benches`: every figure as a ratio to a floor measured in the same run.

#![expect(clippy::expect_used, reason = "a benchmark that cannot set itself up should stop")]

mod table;
mod path;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let good = table::print("One call", &path::rows(&runtime));
    std::process::exit(i32::from(!good));
}
