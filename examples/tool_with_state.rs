//! A tool that holds something, as a pool of connections: a type of your own with `impl Tool`.

use std::{
    collections::HashMap,
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;
use serde_json::json;
use tollgate::{
    Cx, Effects, Failure, Output, Proposed, Registry, Scope, Tollgate, Tool, ToolSpec,
    guard::{Run, Workspace},
    outcome::Outcome,
    policy::Rules,
};

/// The shelf, and how many of each thing are on it. Clones are the same shelf.
#[derive(Clone)]
struct Stock {
    shelf: Arc<Mutex<HashMap<String, u32>>>,
}

#[derive(Deserialize)]
struct Take {
    item: String,
    count: u32,
}

impl Tool for Stock {
    type Args = Take;

    #[expect(clippy::expect_used, reason = "a name that is written here and legal")]
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "item": {"type": "string", "description": "What to take."},
                "count": {"type": "integer", "minimum": 1, "description": "How many of it."},
            },
            "required": ["item", "count"],
            "additionalProperties": false,
        });
        ToolSpec::new("take", "Takes things from the shelf.", schema).expect("a legal name")
    }

    fn effects(&self, _: &Scope, _: &Take) -> Effects {
        // It changes the shelf and nothing else: asked about, unless a rule allows it.
        Effects::writing()
    }

    async fn run(&self, _: &Cx, args: &Take) -> Result<Output, Failure> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = shelf.get_mut(&args.item) else {
            return Err(
                Failure::fatal(format!("there is no {:?}", args.item)).with_hint("Take something else.")
            );
        };
        *left =
            left.checked_sub(args.count).ok_or_else(|| Failure::fatal(format!("only {left} are left")))?;
        Ok(Output::json(json!({"taken": args.count, "left": *left})))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let stock = Stock { shelf: Arc::new(Mutex::new(HashMap::from([("apple".to_owned(), 3)]))) };
    let registry = Registry::new().with(stock.clone())?;
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("take")?).build();
    let scope = Arc::new(Scope::new(Run::new("shop"), Workspace::new(".")));
    for (id, input) in [
        ("c1", r#"{"item": "apple", "count": 2}"#),
        ("c2", r#"{"item": "apple", "count": 2}"#),
        ("c3", r#"{"item": "pear", "count": 1}"#),
        ("c4", r#"{"item": "apple", "count": 0}"#),
    ] {
        let settled = gate.call(&scope, Proposed::new(id, "take", input)).await;
        let said = match &settled.outcome {
            Outcome::Ok(output) => json!(output).to_string(),
            Outcome::Refused(refusal) => refusal.to_string(),
            Outcome::Failed(failure) => failure.to_string(),
        };
        println!("{id} {}: {said}", settled.status());
    }
    println!("on the shelf: {:?}", stock.shelf.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}
