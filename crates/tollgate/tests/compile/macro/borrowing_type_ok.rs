//! The twin of `borrowing_type`: owned inside too.

/// Reads a file.
#[tollgate::tool]
async fn read(path: Option<String>) -> String {
    path.unwrap_or_default()
}

fn main() {
    let _ = tollgate::Registry::new().with(read);
}
