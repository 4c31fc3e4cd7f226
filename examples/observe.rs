//! Everything that happens to a call, as JSON lines: a closed list of events, in the order of the path.

use std::{error::Error, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Proposed, Registry, Scope, Tollgate,
    event::Event,
    guard::{Run, Workspace},
    policy::Rules,
    tool,
};

/// Reads a page from the outside. The first try fails, without effect.
#[tool(effects = |_, _| Effects::reading().open_world(), retry = 2)]
async fn fetch(
    /// Its address.
    url: String,
    cx: &Cx,
) -> Result<String, Failure> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    cx.progress(0.5, "half of it");
    match cx.attempt() {
        1 => Err(Failure::retryable("the line was busy")),
        _ => Ok(format!("the page at {url}")),
    }
}

/// One event as one line. Times are left out so that the output is the same each time.
fn line(event: Event<'_>) -> Value {
    let mut line = json!(event);
    if let Some(line) = line.as_object_mut() {
        line.shift_remove("at_ms");
        line.shift_remove("took_us");
    }
    line
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let rules = Rules::new().allow("fetch")?;
    let gate = Tollgate::builder(Registry::new().with(fetch)?).policy(rules).build();
    let scope = Arc::new(Scope::new(Run::new("r1"), Workspace::new("/work")));

    // A slow observer loses events and is told how many; it never holds up a call.
    let mut events = gate.observe(1_000);
    let _ = gate.call(&scope, Proposed::new("c1", "fetch", r#"{"url": "http://example.org"}"#)).await;
    let _ = gate.call(&scope, Proposed::new("c2", "fech", "{}")).await;
    events.drain(|event| println!("{}", line(event)));
    Ok(())
}
