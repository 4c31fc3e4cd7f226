//! Attributes of a parameter go to a field, where few make sense.

/// Adds two numbers.
#[tollgate::tool]
async fn add(#[cfg(test)] a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
