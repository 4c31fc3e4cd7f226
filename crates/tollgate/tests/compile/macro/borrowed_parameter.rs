//! Arguments arrive by value.

/// Reads a file.
#[tollgate::tool]
async fn read(path: &str) -> String {
    path.to_owned()
}

fn main() {
    let _ = tollgate::Registry::new().with(read);
}
