//! The scope is not asked of the model; it is part of the context.

/// Says who calls.
#[tollgate::tool]
async fn who(scope: &tollgate::Scope) -> String {
    scope.caller.to_string()
}

fn main() {
    let _ = tollgate::Registry::new().with(who);
}
