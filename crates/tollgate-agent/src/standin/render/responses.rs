//! A turn as Responses tell it.

use serde_json::{Value, json};

use super::{Event, pieces};
use crate::standin::Turn;

pub(super) fn whole(turn: &Turn) -> Value {
    let (status, details) = match turn.stop.as_deref() {
        None | Some("completed") => ("completed", Value::Null),
        Some("failed") => ("failed", Value::Null),
        Some(reason) => ("incomplete", json!({"reason": reason})),
    };
    let error = turn.error.as_ref().map(|(kind, message)| json!({"code": kind, "message": message}));
    let status = if error.is_some() { "failed" } else { status };
    json!({
        "id": "resp_standin", "object": "response", "model": "standin", "status": status,
        "incomplete_details": details, "error": error, "output": output(turn, "completed"), "usage": usage(turn),
    })
}

/// The items, the last of them in this state.
fn output(turn: &Turn, status: &str) -> Vec<Value> {
    let mut items = Vec::new();
    if !turn.thinking.is_empty() {
        items.push(json!({
            "id": "rs_standin", "type": "reasoning", "encrypted_content": "c2VjcmV0",
            "summary": [{"type": "summary_text", "text": turn.thinking}],
        }));
    }
    if !turn.text.is_empty() {
        let part = json!({"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []});
        items.push(json!({
            "id": "msg_standin", "type": "message", "role": "assistant", "status": "completed", "content": [part],
        }));
    }
    for (at, (id, name, input)) in turn.calls.iter().enumerate() {
        items.push(json!({
            "id": format!("fc_standin_{at}"), "type": "function_call", "status": status,
            "call_id": id, "name": name, "arguments": input,
        }));
    }
    items
}

pub(super) fn events(turn: &Turn) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut number = 0;
    let mut say = |name: &'static str, mut data: Value| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        number += 1;
        events.push((name, data));
    };
    let begun = json!({"id": "resp_standin", "object": "response", "status": "in_progress", "output": []});
    say("response.created", json!({"response": begun}));
    say("response.in_progress", json!({"response": begun}));
    for (index, item) in output(turn, "completed").into_iter().enumerate() {
        let of = json!({"output_index": index, "item_id": item["id"]});
        let with = |key: &str, value: Value| {
            let mut data = of.clone();
            data[key] = value;
            data
        };
        let mut added = item.clone();
        match item["type"].as_str() {
            Some("message") => added["content"] = json!([]),
            Some("function_call") => added["arguments"] = json!(""),
            _ => added["summary"] = json!([]),
        }
        if item["type"] != "reasoning" {
            added["status"] = json!("in_progress");
        }
        say("response.output_item.added", json!({"output_index": index, "item": added}));
        match item["type"].as_str() {
            Some("message") => {
                for piece in pieces(&turn.text) {
                    let mut data = with("delta", json!(piece));
                    data["content_index"] = json!(0);
                    data["obfuscation"] = json!("x7f");
                    say("response.output_text.delta", data);
                }
                say("response.output_text.done", with("text", json!(turn.text)));
            }
            Some("function_call") => {
                let arguments = item["arguments"].as_str().unwrap_or_default();
                for piece in pieces(arguments) {
                    say("response.function_call_arguments.delta", with("delta", json!(piece)));
                }
                say("response.function_call_arguments.done", with("arguments", json!(arguments)));
            }
            _ => {
                for piece in pieces(&turn.thinking) {
                    say("response.reasoning_summary_text.delta", with("delta", json!(piece)));
                }
            }
        }
        say("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    let response = whole(turn);
    match response["status"].as_str() {
        Some("failed") => say("response.failed", json!({"response": response})),
        Some("incomplete") => say("response.incomplete", json!({"response": response})),
        _ => say("response.completed", json!({"response": response})),
    }
    events
}

fn usage(turn: &Turn) -> Value {
    json!({
        "input_tokens": turn.usage.input_tokens,
        "input_tokens_details": {"cached_tokens": turn.usage.cache_read_tokens},
        "output_tokens": turn.usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": turn.usage.reasoning_tokens},
        "total_tokens": turn.usage.input_tokens + turn.usage.output_tokens,
    })
}
