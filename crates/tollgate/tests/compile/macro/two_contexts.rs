//! There is one context.

/// Says its own id.
#[tollgate::tool]
async fn id(cx: &tollgate::Cx, other: &tollgate::Cx) -> String {
    format!("{} {}", cx.call_id(), other.call_id())
}

fn main() {
    let _ = tollgate::Registry::new().with(id);
}
