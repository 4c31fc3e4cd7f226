//! A turn of five calls: reads run together, a write runs alone, answers come in call order.

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use serde_json::json;
use tokio::sync::Barrier;
use tollgate::{
    Effects, Failure, Proposed, Registry, Scope, Tollgate,
    event::What,
    guard::{Run, Workspace},
    policy::Rules,
    tool,
};

static SHELF: Mutex<BTreeMap<String, i64>> = Mutex::new(BTreeMap::new());

/// Opens when two are inside: were reads run one after the other, the first would wait for ever.
static BOTH: LazyLock<Barrier> = LazyLock::new(|| Barrier::new(2));

/// Says how many there are.
#[tool(effects = |_, _| Effects::reading())]
async fn count(
    /// Of what.
    thing: String,
) -> Result<String, Failure> {
    BOTH.wait().await;
    let shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    match shelf.get(&thing) {
        Some(count) => Ok(format!("{count} {thing}")),
        None => {
            Err(Failure::fatal(format!("there are no {thing}")).with_hint("Put some on the shelf first."))
        }
    }
}

/// Puts things on the shelf.
#[tool(effects = |_, _| Effects::writing())]
async fn put(thing: String, count: i64) {
    SHELF.lock().unwrap_or_else(PoisonError::into_inner).insert(thing, count);
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    SHELF.lock().unwrap_or_else(PoisonError::into_inner).insert("apples".into(), 3);
    let registry = Registry::new().with(count)?.with(put)?;
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*")?).build();
    let scope = Arc::new(Scope::new(Run::new("turn"), Workspace::new("/work")));
    let mut events = gate.observe(1_000);

    let calls = vec![
        Proposed::new("c1", "count", r#"{"thing": "apples"}"#),
        Proposed::new("c2", "count", r#"{"thing": "pears"}"#),
        Proposed::new("c3", "put", r#"{"thing": "pears", "count": 5}"#),
        Proposed::new("c4", "count", r#"{"thing": "pears"}"#),
        Proposed::new("c5", "count", r#"{"thing": "apples"}"#),
    ];
    let answers = gate.turn(&scope).run(calls).await;

    events.drain(|event| {
        if let What::Batch(batch) = event.what {
            println!("batch {}: {:?}", batch.index, batch.calls);
        }
    });
    for settled in answers {
        let how = if settled.was_concurrent { "with others" } else { "alone" };
        // A failed call is an answer too: the ones beside it went on.
        let said = match (settled.output(), settled.failure()) {
            (Some(output), _) => json!(output).to_string(),
            (_, Some(failure)) => failure.to_string(),
            _ => String::new(),
        };
        println!("{} {} {how}: {said}", settled.id, settled.status());
    }
    Ok(())
}
