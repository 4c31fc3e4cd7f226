//! A typed tool, one call, its answer.
//!
//! Run it with `cargo run -p tollgate --example first_tool`.

use std::{error::Error, sync::Arc};

use serde_json::json;
use tollgate::{
    Effects, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    outcome::Outcome,
    policy::Rules,
    tool,
};

/// Adds two numbers.
// Undeclared, its effects would be the worst there are. It only reads, and it is quick.
#[tool(effects = |_, _| Effects::reading(), inline)]
async fn add(
    /// The first number.
    a: i64,
    /// The second one, 0 when left out.
    b: Option<i64>,
) -> i64 {
    a + b.unwrap_or(0)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::new().with(add)?;
    for spec in registry.specs() {
        println!("offered: {} {}", spec.name(), spec.input_schema);
    }

    // Without this rule a person would be asked, and nobody is there.
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("add")?).build();
    let scope = Arc::new(Scope::new(Run::new("first run"), Workspace::new("/work")));

    // What a model would write: the right call, then one with a mistyped field.
    for (id, input) in [("c1", r#"{"a": 2, "b": 3}"#), ("c2", r#"{"a": 2, "c": 3}"#)] {
        let settled = gate.call(&scope, Proposed::new(id, "add", input)).await;
        match &settled.outcome {
            Outcome::Ok(output) => println!("{id} ok: {}", json!(output)),
            Outcome::Refused(refusal) => println!("{id} refused at {}: {refusal}", settled.phase.title()),
            Outcome::Failed(failure) => println!("{id} failed: {failure}"),
        }
    }
    Ok(())
}
