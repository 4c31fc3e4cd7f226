//! The twin of `not_async`: one word more.

/// Adds two numbers.
#[tollgate::tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
