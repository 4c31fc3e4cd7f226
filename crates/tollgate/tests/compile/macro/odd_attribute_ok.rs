//! The twin of `odd_attribute`: what serde and schemars know is passed on.

/// Adds two numbers.
#[tollgate::tool]
async fn add(#[serde(default)] #[schemars(range(min = 1))] a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
