//! Anthropic's cache marks on a conversation: where the next request will begin the same.

use std::borrow::Cow;

use serde_json::{Value, json};

/// How many messages of the user are marked: the last, which the next request repeats, and the one before, which
/// this one repeats. With the system text and the tools that is all a request may have.
const MARKED: usize = 2;

/// The messages with their marks, those that bear none as they are.
///
/// A conversation that has marks already keeps them and gets none.
pub(super) fn marked(messages: &[Value]) -> Vec<Cow<'_, Value>> {
    let mut out: Vec<_> = messages.iter().map(Cow::Borrowed).collect();
    if messages.iter().any(has_mark) {
        return out;
    }
    let users = out.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in users.take(MARKED) {
        if let Some(with_mark) = mark(message) {
            *message = Cow::Owned(with_mark);
        }
    }
    out
}

pub(super) fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}

fn has_mark(message: &Value) -> bool {
    let blocks = message["content"].as_array();
    blocks.into_iter().flatten().any(|block| block.get("cache_control").is_some())
}

fn mark(message: &Value) -> Option<Value> {
    let mut message = message.clone();
    match &mut message["content"] {
        Value::String(text) if !text.trim().is_empty() => {
            let text = std::mem::take(text);
            message["content"] = json!([{"type": "text", "text": text, "cache_control": ephemeral()}]);
        }
        Value::Array(blocks) => {
            let last = blocks.last_mut().and_then(Value::as_object_mut)?;
            let bears = match last.get("type").and_then(Value::as_str)? {
                "text" => {
                    last.get("text").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
                }
                "tool_result" | "image" | "document" => true,
                _ => false,
            };
            if !bears {
                return None;
            }
            last.insert("cache_control".to_owned(), ephemeral());
        }
        _ => return None,
    }
    Some(message)
}
