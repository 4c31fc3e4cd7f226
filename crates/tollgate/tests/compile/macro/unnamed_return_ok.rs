//! The twin of `unnamed_return`: it is named.

/// Greets.
#[tollgate::tool]
async fn greet() -> &'static str {
    "hello"
}

fn main() {
    let _ = tollgate::Registry::new().with(greet);
}
