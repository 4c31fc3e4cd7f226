//! A tool has one schema, so it has one set of types.

/// Says how long something is.
#[tollgate::tool]
async fn measure<T: AsRef<str>>(text: T) -> u64 {
    text.as_ref().len() as u64
}

fn main() {
    let _ = tollgate::Registry::new().with(measure);
}
