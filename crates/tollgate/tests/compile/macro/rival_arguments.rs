//! Two arguments that decide the same thing.

/// Adds two numbers.
#[tollgate::tool(max_result_chars = 100, unlimited)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
