//! What the tests of turns share: turns of one call, and what must hold for each.

use serde_json::{Value, json};

use super::{
    ModelTurn,
    Provider::{self, Anthropic, OpenAiChat, OpenAiResponses},
    check, read_turn, repair,
};
use crate::outcome::RefusalCode;

/// A turn of one call, from the texts of its id, name and arguments; an empty text leaves the field out.
pub(super) fn one_call(provider: Provider, id: &str, name: &str, arguments: &str) -> String {
    let field = |key: &str, text: &str| match text {
        "" => String::new(),
        text => format!(",\"{key}\":{text}"),
    };
    let quoted = if arguments.is_empty() { String::new() } else { json!(arguments).to_string() };
    match provider {
        Anthropic => format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use"{}{}{}}}]}}"#,
            field("id", id),
            field("name", name),
            field("input", arguments)
        ),
        OpenAiResponses => format!(
            r#"{{"output":[{{"type":"function_call"{}{}{}}}]}}"#,
            field("call_id", id),
            field("name", name),
            field("arguments", &quoted)
        ),
        OpenAiChat => format!(
            r#"{{"role":"assistant","tool_calls":[{{"type":"function"{},"function":{{"x":0{}{}}}}}]}}"#,
            field("id", id),
            field("name", name),
            field("arguments", &quoted)
        ),
    }
}

pub(super) fn read(provider: Provider, body: &str) -> ModelTurn {
    read_turn(provider, body.as_bytes()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

pub(super) fn code(turn: &ModelTurn) -> Option<RefusalCode> {
    assert_eq!(turn.calls.len(), 1, "{turn:?}");
    turn.calls[0].fault().map(|fault| fault.code)
}

/// The turn can be sent back: a history with it and with answers to its calls is accepted.
pub(super) fn assert_can_be_sent_back(provider: Provider, turn: &ModelTurn) {
    let mut history = vec![json!({"role": "user", "content": "Go."})];
    match &turn.message {
        Value::Array(items) => history.extend(items.iter().cloned()),
        message => history.push(message.clone()),
    }
    repair(provider, &mut history);
    assert_eq!(check(provider, &history), Vec::<String>::new());
    let text = Value::Array(history).to_string();
    for call in &turn.calls {
        assert!(text.contains(&json!(call.id).to_string()), "{} is not in {text}", call.id);
    }
}
