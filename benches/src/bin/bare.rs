//! The least a program with a command line does: what starting `tollgate` is held against.

use clap::Parser;

/// Says what it was given.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// A name
    tool: String,
    /// Its input
    input: String,
}

#[expect(clippy::print_stdout, reason = "that is all it is for")]
fn main() {
    let Args { tool, input } = Args::parse();
    println!("{tool} {input}");
}
