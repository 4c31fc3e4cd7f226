//! The twin of `context_by_value`: borrowed.

/// Says its own id.
#[tollgate::tool]
async fn id(cx: &tollgate::Cx) -> String {
    cx.call_id().to_string()
}

fn main() {
    let _ = tollgate::Registry::new().with(id);
}
