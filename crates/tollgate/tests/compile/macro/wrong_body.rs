//! A mistake in the body is told as in any function.

/// Adds two numbers.
#[tollgate::tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b.unwrap_or(0)
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
