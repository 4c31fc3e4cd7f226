//! The twin of `unknown_argument`: spelled as it is.

use tollgate::{Effects, Registry, tool};

/// Adds two numbers.
#[tool(effects = |_, _| Effects::reading(), inline)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = Registry::new().with(add);
    let _ = Effects::worst();
}
