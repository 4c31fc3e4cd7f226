//! The twin of `duplicate_argument`: once.

/// Adds two numbers.
#[tollgate::tool(inline, retry = 3)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
