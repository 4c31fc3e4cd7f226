//! A turn as chat completions tell it.

use serde_json::{Value, json};

use super::{Event, pieces};
use crate::standin::Turn;

pub(super) fn whole(turn: &Turn) -> Value {
    let calls: Vec<_> = turn
        .calls
        .iter()
        .map(|(id, name, input)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": input}})
        })
        .collect();
    let content = Some(&turn.text).filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    if !turn.thinking.is_empty() {
        message["reasoning_content"] = json!(turn.thinking);
    }
    json!({
        "id": "chatcmpl-standin", "object": "chat.completion", "model": "standin", "usage": usage(turn),
        "choices": [{"index": 0, "message": message, "finish_reason": stop(turn), "logprobs": null}],
    })
}

pub(super) fn events(turn: &Turn) -> Vec<Event> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        (
            "",
            json!({"id": "chatcmpl-standin", "object": "chat.completion.chunk", "choices": [choice], "usage": null}),
        )
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    for piece in pieces(&turn.thinking) {
        events.push(chunk(json!({"reasoning_content": piece}), Value::Null));
    }
    for piece in pieces(&turn.text) {
        events.push(chunk(json!({"content": piece}), Value::Null));
    }
    for (index, (id, name, input)) in turn.calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": ""});
        let begin = json!({"index": index, "id": id, "type": "function", "function": function});
        events.push(chunk(json!({"tool_calls": [begin]}), Value::Null));
        for piece in pieces(input) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    if let Some((kind, message)) = &turn.error {
        events.push(("", json!({"error": {"message": message, "type": kind, "code": kind}})));
        return events;
    }
    events.push(chunk(json!({}), json!(stop(turn))));
    events.push(("", json!({"id": "chatcmpl-standin", "choices": [], "usage": usage(turn)})));
    events.push(("", json!("[DONE]")));
    events
}

fn stop(turn: &Turn) -> &str {
    let usual = if turn.calls.is_empty() { "stop" } else { "tool_calls" };
    turn.stop.as_deref().unwrap_or(usual)
}

fn usage(turn: &Turn) -> Value {
    json!({
        "prompt_tokens": turn.usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": turn.usage.cache_read_tokens},
        "completion_tokens": turn.usage.output_tokens,
        "total_tokens": turn.usage.input_tokens + turn.usage.output_tokens,
    })
}
