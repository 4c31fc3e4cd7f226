//! A mistyped declaration is no silent default.

use tollgate::{Effects, Registry, tool};

/// Adds two numbers.
#[tool(efects = |_, _| Effects::reading(), inline)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = Registry::new().with(add);
    let _ = Effects::worst();
}
