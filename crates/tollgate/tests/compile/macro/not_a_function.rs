//! Only a function becomes a tool.

/// Adds two numbers.
#[tollgate::tool]
struct Add;

fn main() {}
