//! The twin of `scope_parameter`: through the context.

/// Says who calls.
#[tollgate::tool]
async fn who(cx: &tollgate::Cx) -> String {
    cx.caller.to_string()
}

fn main() {
    let _ = tollgate::Registry::new().with(who);
}
