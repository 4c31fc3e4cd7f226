//! The twin of `wrong_body`: an `Option` is what may be left out.

/// Adds two numbers.
#[tollgate::tool]
async fn add(a: i64, b: Option<i64>) -> i64 {
    a + b.unwrap_or(0)
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
