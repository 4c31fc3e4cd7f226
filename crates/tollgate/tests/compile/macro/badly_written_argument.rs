//! The message shows how the argument is written.

/// Adds two numbers.
#[tollgate::tool(timeout_ms = "30s")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
