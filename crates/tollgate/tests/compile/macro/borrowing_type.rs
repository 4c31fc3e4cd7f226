//! Nor do their types borrow anywhere inside.

/// Reads a file.
#[tollgate::tool]
async fn read(path: Option<&str>) -> String {
    path.unwrap_or("nothing").to_owned()
}

fn main() {
    let _ = tollgate::Registry::new().with(read);
}
