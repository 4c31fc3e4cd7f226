//! Which of two would count is nobody's guess.

/// Adds two numbers.
#[tollgate::tool(retry = 2, inline, retry = 3)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
