//! A tool may wait, so it is async.

/// Adds two numbers.
#[tollgate::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
