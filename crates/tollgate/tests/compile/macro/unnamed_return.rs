//! The output schema comes from the type, so the type has a name.

/// Greets.
#[tollgate::tool]
async fn greet() -> impl tollgate::IntoOutput {
    "hello"
}

fn main() {
    let _ = tollgate::Registry::new().with(greet);
}
