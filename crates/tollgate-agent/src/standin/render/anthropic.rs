//! A turn as Messages tell it.

use serde_json::{Value, json};

use super::{Event, pieces};
use crate::standin::Turn;

pub(super) fn whole(turn: &Turn) -> Value {
    let mut content = Vec::new();
    if !turn.thinking.is_empty() {
        content.push(json!({"type": "thinking", "thinking": turn.thinking, "signature": "c2lnbmVk"}));
    }
    if !turn.text.is_empty() {
        content.push(json!({"type": "text", "text": turn.text}));
    }
    for (id, name, input) in &turn.calls {
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    json!({
        "id": "msg_standin", "type": "message", "role": "assistant", "model": "standin",
        "content": content, "stop_reason": stop(turn), "stop_sequence": null, "usage": usage(turn),
    })
}

pub(super) fn events(turn: &Turn) -> Vec<Event> {
    let mut start = whole(turn);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![("message_start", json!({"type": "message_start", "message": start}))];
    let mut index = 0;
    let mut block = |begin: Value, deltas: Vec<Value>| {
        events.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": begin}),
        ));
        for delta in deltas {
            events.push((
                "content_block_delta",
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push(("content_block_stop", json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    if !turn.thinking.is_empty() {
        let mut deltas: Vec<_> = pieces(&turn.thinking)
            .into_iter()
            .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
            .collect();
        deltas.push(json!({"type": "signature_delta", "signature": "c2lnbmVk"}));
        block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
    }
    if !turn.text.is_empty() {
        let deltas = pieces(&turn.text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (id, name, input) in &turn.calls {
        // The first piece is always empty.
        let deltas = std::iter::once(String::new())
            .chain(pieces(input))
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect());
    }
    if let Some((kind, message)) = &turn.error {
        events.push(("error", json!({"type": "error", "error": {"type": kind, "message": message}})));
        return events;
    }
    let delta = json!({"stop_reason": stop(turn), "stop_sequence": null});
    events.push(("message_delta", json!({"type": "message_delta", "delta": delta, "usage": usage(turn)})));
    events.push(("message_stop", json!({"type": "message_stop"})));
    events
}

fn stop(turn: &Turn) -> &str {
    let usual = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
    turn.stop.as_deref().unwrap_or(usual)
}

fn usage(turn: &Turn) -> Value {
    json!({
        "input_tokens": turn.usage.input_tokens,
        "cache_creation_input_tokens": turn.usage.cache_write_tokens,
        "cache_read_input_tokens": turn.usage.cache_read_tokens,
        "output_tokens": turn.usage.output_tokens,
    })
}
