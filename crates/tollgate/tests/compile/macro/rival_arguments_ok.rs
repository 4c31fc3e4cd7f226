//! The twin of `rival_arguments`: one of them.

/// Adds two numbers.
#[tollgate::tool(max_result_chars = 100)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
