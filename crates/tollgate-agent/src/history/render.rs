//! One entry in the words of one provider.

use serde_json::{Map, Value, json};
use tollgate::{
    Settled,
    tool::CallId,
    wire::{self, Provider},
};

use super::{
    Part, Turn,
    ids::{Ids, fit_name},
};

/// What a person said, as one message.
pub(super) fn person(provider: Provider, parts: &[Part]) -> Value {
    let mut content: Vec<Value> = parts.iter().filter_map(|part| part_of(provider, part)).collect();
    if content.is_empty() {
        content.push(text_part(provider, "(an empty message)"));
    }
    match provider {
        Provider::Anthropic => json!({"role": "user", "content": content}),
        Provider::OpenAiResponses => json!({"type": "message", "role": "user", "content": content}),
        Provider::OpenAiChat => match (parts, &content[..]) {
            ([Part::Text { text }], [_]) if !text.trim().is_empty() => {
                json!({"role": "user", "content": text})
            }
            _ => json!({"role": "user", "content": content}),
        },
    }
}

fn part_of(provider: Provider, part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } if text.trim().is_empty() => None,
        Part::Text { text } => Some(text_part(provider, text)),
        Part::Image { mime, data } => Some(match wire::media_type(mime, data) {
            Err(why) => text_part(provider, &why),
            Ok(media_type) => match provider {
                Provider::Anthropic => json!({
                    "type": "image",
                    "source": {"type": "base64", "media_type": media_type, "data": data},
                }),
                Provider::OpenAiResponses => {
                    json!({"type": "input_image", "image_url": format!("data:{media_type};base64,{data}")})
                }
                Provider::OpenAiChat => json!({
                    "type": "image_url",
                    "image_url": {"url": format!("data:{media_type};base64,{data}")},
                }),
            },
        }),
    }
}

fn text_part(provider: Provider, text: &str) -> Value {
    let kind = if provider == Provider::OpenAiResponses { "input_text" } else { "text" };
    json!({"type": kind, "text": text})
}

/// What the program tells the model, marked as such.
pub(super) fn context(provider: Provider, text: &str, from: &str) -> Value {
    let text = format!("<context from={from:?}>\n{}\n</context>", text.trim_end());
    person(provider, &[Part::Text { text }])
}

/// A turn, as its provider wrote it or written anew, and the ids its answers go by where they are others.
pub(super) struct Rendered {
    pub(super) messages: Vec<Value>,
    pub(super) renamed: Vec<(CallId, String)>,
}

/// A turn of this very model keeps its own items.
pub(super) fn own(provider: Provider, turn: &Turn, ids: &mut Ids) -> Rendered {
    let renamed: Vec<(CallId, String)> = turn
        .calls
        .iter()
        .map(|call| (call.id.clone(), ids.keep(provider, call.id.as_str())))
        .filter(|(from, id)| from.as_str() != id)
        .collect();
    let mut messages = match (provider, &turn.message) {
        (Provider::OpenAiResponses, Value::Array(items)) => items.clone(),
        (_, Value::Null) => Vec::new(),
        (_, message) => vec![message.clone()],
    };
    if !renamed.is_empty() {
        messages.iter_mut().for_each(|message| rename(provider, message, &renamed));
    }
    Rendered { messages, renamed }
}

/// Puts the new ids where the old ones stand in a provider's own message.
fn rename(provider: Provider, message: &mut Value, renamed: &[(CallId, String)]) {
    let change = |call: &mut Value, key: &str| {
        let new = call[key].as_str().and_then(|old| renamed.iter().find(|(from, _)| from.as_str() == old));
        if let Some((_, new)) = new {
            call[key] = json!(new);
        }
    };
    match provider {
        Provider::Anthropic => {
            let blocks = message["content"].as_array_mut().into_iter().flatten();
            blocks.filter(|block| block["type"] == "tool_use").for_each(|block| change(block, "id"));
        }
        Provider::OpenAiResponses if message.get("call_id").is_some() => change(message, "call_id"),
        Provider::OpenAiResponses => {}
        Provider::OpenAiChat => {
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            calls.into_iter().flatten().for_each(|call| change(call, "id"));
        }
    }
}

/// A turn of another model says and calls the same; its thoughts stay with whom they are signed for.
pub(super) fn foreign(provider: Provider, turn: &Turn, ids: &mut Ids) -> Rendered {
    let calls: Vec<Called<'_>> = turn
        .calls
        .iter()
        .map(|call| Called {
            from: &call.id,
            id: ids.fit(call.id.as_str()),
            name: fit_name(&call.name),
            input: object(&call.input),
        })
        .collect();
    let text = Some(turn.text.trim_end()).filter(|text| !text.trim().is_empty());
    let messages = match provider {
        Provider::Anthropic => anthropic(text, &calls),
        Provider::OpenAiResponses => responses(text, &calls),
        Provider::OpenAiChat => chat(text, &calls),
    };
    let renamed = calls.into_iter().filter(|call| call.id != call.from.as_str());
    Rendered { messages, renamed: renamed.map(|call| (call.from.clone(), call.id)).collect() }
}

struct Called<'a> {
    from: &'a CallId,
    id: String,
    name: String,
    input: Map<String, Value>,
}

/// The arguments as they may stand in a history; what was no object never ran.
fn object(input: &str) -> Map<String, Value> {
    serde_json::from_str(input).unwrap_or_default()
}

fn anthropic(text: Option<&str>, calls: &[Called<'_>]) -> Vec<Value> {
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let uses = calls.iter().map(
        |call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": Value::Object(call.input.clone())}),
    );
    let content: Vec<Value> = text.into_iter().chain(uses).collect();
    if content.is_empty() { Vec::new() } else { vec![json!({"role": "assistant", "content": content})] }
}

fn responses(text: Option<&str>, calls: &[Called<'_>]) -> Vec<Value> {
    let text = text.map(|text| {
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    });
    let items = calls.iter().map(|call| {
        let arguments = Value::Object(call.input.clone()).to_string();
        json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
    });
    text.into_iter().chain(items).collect()
}

fn chat(text: Option<&str>, calls: &[Called<'_>]) -> Vec<Value> {
    let mut message = json!({"role": "assistant", "content": text});
    if calls.is_empty() {
        return text.map(|_| message).into_iter().collect();
    }
    message["tool_calls"] = calls
        .iter()
        .map(|call| {
            let arguments = Value::Object(call.input.clone()).to_string();
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        })
        .collect();
    vec![message]
}

/// The answers to a turn, under the ids it was written with.
pub(super) fn results(
    provider: Provider,
    turn: &Value,
    renamed: &[(CallId, String)],
    answers: &[super::Kept],
) -> Vec<Value> {
    let answers: Vec<Settled> = answers
        .iter()
        .map(|answer| {
            let mut answer = answer.0.clone();
            if let Some((_, id)) = renamed.iter().find(|(from, _)| *from == answer.id) {
                answer.id = CallId::new(id);
            }
            answer
        })
        .collect();
    match wire::results_for(provider, turn, &answers) {
        Value::Array(messages) => messages,
        message => vec![message],
    }
}
