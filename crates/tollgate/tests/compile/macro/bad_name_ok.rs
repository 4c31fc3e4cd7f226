//! The twin of `bad_name`: no blank.

/// Adds two numbers.
#[tollgate::tool(name = "add-numbers")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
