//! Every recorded answer of a real provider drives the loop: its calls are answered and the next request is accepted.
//!
//! The recordings are not part of the project: `TOLLGATE_SHARED` names the folder that has `wire/recorded.jsonl`.

use serde_json::Value;
use tollgate_agent::standin::Say;

use crate::skipped::skipped;
use crate::world::World;

#[expect(clippy::disallowed_methods, reason = "a test finds its recordings through the environment")]
fn recordings() -> Vec<Value> {
    let Ok(folder) = std::env::var("TOLLGATE_SHARED") else {
        skipped("TOLLGATE_SHARED does not name the folder of the recordings");
        return Vec::new();
    };
    let text = std::fs::read_to_string(format!("{folder}/wire/recorded.jsonl")).expect("the recordings");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn every_recorded_response_drives_the_loop() {
    let mut turns = 0;
    for (line, row) in recordings().into_iter().enumerate() {
        let model = match row["proto"].as_str().unwrap() {
            "anthropic" => "anthropic:any",
            "openai-responses" => "openai:any",
            _ => "chat:any",
        };
        let world = World::new().await;
        let body = match &row["response"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let kind = if row["stream"] == true { "text/event-stream" } else { "application/json" };
        let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
        world.standin.say(Say::raw(status, kind, body));
        for _ in 0..6 {
            world.standin.say(Say::text("fine"));
        }
        let (stopped, conversation, _) = world.say(model, "go").await;
        let refused = world.standin.refused();
        assert!(refused.is_empty(), "line {line} ({model}): {refused:#?}");
        let reason = stopped.reason.as_str();
        assert!(
            matches!(reason, "done" | "refused" | "provider_failed" | "cut_short"),
            "line {line}: {:?}",
            stopped.reason
        );
        turns += conversation.machine().turn();
    }
    println!("{turns} turns");
}
