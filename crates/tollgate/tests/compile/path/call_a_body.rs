//! A function with `#[tool]` above it is no function any more.

/// Adds two numbers.
#[tollgate::tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

async fn shortcut() -> i64 {
    add(1, 2).await
}

fn main() {
    let _ = shortcut();
}
