//! The twin of `call_a_body`: through the gate.

use std::sync::Arc;

use tollgate::{
    Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    outcome::Settled,
    policy::Rules,
};

/// Adds two numbers.
#[tollgate::tool(inline)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

async fn through_the_gate() -> Settled {
    let rules = Rules::new().allow("add").unwrap();
    let gate = Tollgate::builder(Registry::new().with(add).unwrap()).policy(rules).build();
    let scope = Arc::new(Scope::new(Run::new("r"), Workspace::new("/tmp")));
    gate.call(&scope, Proposed::new("c1", "add", r#"{"a": 1, "b": 2}"#)).await
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let settled = runtime.block_on(through_the_gate());
    assert_eq!(settled.output(), Some(&tollgate::Output::json(3)));
}
