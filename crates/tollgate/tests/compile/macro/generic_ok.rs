//! The twin of `generic`: the type is written out.

/// Says how long something is.
#[tollgate::tool]
async fn measure(text: String) -> u64 {
    text.len() as u64
}

fn main() {
    let _ = tollgate::Registry::new().with(measure);
}
