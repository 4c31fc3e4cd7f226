//! The twin of `pattern_parameter`: named, and taken apart inside.

/// Adds two numbers.
#[tollgate::tool]
async fn add(both: (i64, i64)) -> i64 {
    let (a, b) = both;
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
