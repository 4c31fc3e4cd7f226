//! The twin of `badly_written_argument`: milliseconds, as a number.

/// Adds two numbers.
#[tollgate::tool(timeout_ms = 30_000)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
