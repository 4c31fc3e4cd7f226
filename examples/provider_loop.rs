//! A whole conversation with a provider: tools out, a turn in, its results back, until the model has no more calls.

use std::{error::Error, sync::Arc};

use serde_json::{Value, json};
use tollgate::{
    Effects, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    policy::Rules,
    schema::{Provider, Target},
    tool,
    wire::{check, read_turn, results_for},
};

/// What the weather is like.
#[tool(effects = |_, _| Effects::reading())]
async fn weather(
    /// Where.
    city: String,
    /// In which unit; degrees Celsius when left out.
    unit: Option<String>,
) -> String {
    format!("{city}: 21 degrees {}", unit.as_deref().unwrap_or("Celsius"))
}

/// In the place of the provider: what it answered when this was recorded. A real one is sent both over HTTP.
fn model(tools: &str, history: &[Value]) -> &'static str {
    println!("asked with {} bytes of tools and {} messages", tools.len(), history.len());
    match history.len() {
        // Strict mode makes every field required: what the model leaves out it says as null.
        1 => {
            r#"{"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Rome\", \"unit\": null}"}},
                {"id": "call_2", "type": "function", "function": {"name": "whether", "arguments": "{\"city\": \"Oslo\"}"}}]}}]}"#
        }
        _ => {
            r#"{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "It is warm in Rome."}}]}"#
        }
    }
}

/// One message, or several.
fn messages(value: Value) -> Vec<Value> {
    match value {
        Value::Array(messages) => messages,
        message => vec![message],
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let rules = Rules::new().allow("weather")?;
    let gate = Tollgate::builder(Registry::new().with(weather)?).policy(rules).build();
    let scope = Arc::new(Scope::new(Run::new("chat"), Workspace::new(".")));
    let provider = Provider::OpenAiChat;
    let mut history = vec![json!({"role": "user", "content": "Is it warm in Rome, and in Oslo?"})];
    loop {
        // The list of tools is pinned here: calls are judged against what the model saw.
        let turn = gate.turn(&scope);
        let offer = turn.snapshot().wire(Target { provider, strict: true }, None);
        let said = read_turn(provider, model(&offer.json, &history).as_bytes())?;
        history.extend(messages(said.message.clone()));
        if said.calls.is_empty() {
            println!("the model: {}", said.text);
            break;
        }
        // Back to the tools' own names and fields, then every phase of the path, then one answer for each call.
        let calls = said.calls.into_iter().map(|call| offer.inward(call)).collect();
        let answers = turn.run(calls).await;
        for message in messages(results_for(provider, &said.message, &answers)) {
            println!("{}: {}", message["tool_call_id"], message["content"]);
            history.push(message);
        }
    }
    println!("wrong with the history: {:?}", check(provider, &history));
    Ok(())
}
