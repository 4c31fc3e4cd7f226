//! The twin of `two_contexts`: one, and it may stand last.

/// Says its own id.
#[tollgate::tool]
async fn id(prefix: String, cx: &tollgate::Cx) -> String {
    format!("{prefix} {}", cx.call_id())
}

fn main() {
    let _ = tollgate::Registry::new().with(id);
}
