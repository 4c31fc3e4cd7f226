//! An argument has a name.

/// Adds two numbers.
#[tollgate::tool]
async fn add((a, b): (i64, i64)) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
