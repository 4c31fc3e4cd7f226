//! The twin of `check_that_waits`: one that waits is an `async_check`.

use tollgate::{Refusal, Registry, Scope, tool};

/// Adds two numbers.
#[tool(async_check = small)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

async fn small(_: &Scope, _: &AddArgs) -> Result<(), Refusal> {
    Ok(())
}

fn main() {
    let _ = Registry::new().with(add);
}
