//! The twin of `borrowed_parameter`: owned, beside the one reference there is.

/// Reads a file.
#[tollgate::tool]
async fn read(path: String, cx: &tollgate::Cx) -> String {
    format!("{path} {}", cx.call_id())
}

fn main() {
    let _ = tollgate::Registry::new().with(read);
}
