//! What the Messages API refuses in a history, read off its rules and nothing else.

use serde_json::Value;

use crate::wire::{Provider, history::word, names::fits_history};

/// Every fault, in words.
pub(in crate::wire) fn check(history: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    if history.first().is_some_and(|first| word(first, "role") == "assistant") {
        faults.push("the first message is not the user's".to_owned());
    }
    for (at, message) in history.iter().enumerate() {
        let mut fault = |text: String| faults.push(format!("message {at}: {text}"));
        let role = word(message, "role");
        if !message.is_object() {
            fault("not an object".to_owned());
        }
        if at > 0 && word(&history[at - 1], "role") == role && matches!(role, "user" | "assistant") {
            fault(format!("a second message of role {role} in a row"));
        }
        match (role, &message["content"]) {
            ("user" | "assistant", Value::String(text)) if text.trim().is_empty() => {
                fault("empty content".into());
            }
            ("user" | "assistant", Value::String(_)) => {}
            ("user" | "assistant", Value::Array(blocks)) if blocks.is_empty() => {
                fault("empty content".into());
            }
            ("user", Value::Array(blocks)) => user(blocks, &mut fault),
            ("assistant", Value::Array(blocks)) => assistant(blocks, &mut fault),
            ("user" | "assistant", _) => fault("no content".to_owned()),
            _ => {}
        }
        let asked = ids(message, "assistant", "tool_use", "id");
        let given = history
            .get(at + 1)
            .map(|next| ids(next, "user", "tool_result", "tool_use_id"))
            .unwrap_or_default();
        for id in &asked {
            match given.iter().filter(|given| *given == id).count() {
                1 => {}
                n => fault(format!("call {id:?} has {n} results in the next message")),
            }
        }
        let earlier = if at == 0 { Vec::new() } else { ids(&history[at - 1], "assistant", "tool_use", "id") };
        for id in ids(message, "user", "tool_result", "tool_use_id") {
            if !earlier.contains(&id) {
                fault(format!("result {id:?} has no call in the message before"));
            }
        }
    }
    faults
}

fn ids<'a>(message: &'a Value, role: &str, kind: &str, key: &str) -> Vec<&'a str> {
    let blocks = message["content"].as_array().filter(|_| word(message, "role") == role);
    blocks
        .into_iter()
        .flatten()
        .filter(|block| word(block, "type") == kind)
        .map(|block| word(block, key))
        .collect()
}

fn assistant(blocks: &[Value], fault: &mut impl FnMut(String)) {
    let mut called = Vec::new();
    for block in blocks {
        match word(block, "type") {
            "" => fault("a block without a type".to_owned()),
            "text" if word(block, "text").trim().is_empty() => fault("an empty text block".to_owned()),
            "text" if !called.is_empty() => fault("text after tool_use".to_owned()),
            "thinking" if word(block, "signature").is_empty() => {
                fault("thinking without a signature".to_owned());
            }
            "tool_result" => fault("tool_result in the assistant's message".to_owned()),
            "tool_use" => {
                let (id, name) = (word(block, "id"), word(block, "name"));
                if id.is_empty() || called.contains(&id) {
                    fault(format!("the id {id:?} of a tool_use is empty or a second one"));
                }
                if !fits_history(Provider::Anthropic, name) {
                    fault(format!("the name {name:?} is not accepted"));
                }
                if !block["input"].is_object() {
                    fault("input is not an object".to_owned());
                }
                called.push(id);
            }
            _ => {}
        }
    }
}

fn user(blocks: &[Value], fault: &mut impl FnMut(String)) {
    let mut others = false;
    for block in blocks {
        match word(block, "type") {
            "" => fault("a block without a type".to_owned()),
            "text" if word(block, "text").trim().is_empty() => fault("an empty text block".to_owned()),
            "tool_use" => fault("tool_use in the user's message".to_owned()),
            "tool_result" => {
                if others {
                    fault("tool_result after other content".to_owned());
                }
                result(block, fault);
                continue;
            }
            _ => {}
        }
        others = true;
    }
}

fn result(block: &Value, fault: &mut impl FnMut(String)) {
    let is_error = block["is_error"] == Value::Bool(true);
    match block.get("content") {
        None if is_error => fault("an error without content".to_owned()),
        Some(Value::String(text)) if is_error && text.trim().is_empty() => fault("an empty error".to_owned()),
        None | Some(Value::String(_)) => {}
        Some(Value::Array(parts)) if parts.is_empty() => fault("a result with an empty list".to_owned()),
        Some(Value::Array(parts)) => {
            for part in parts {
                match word(part, "type") {
                    "" => fault("a part of a result without a type".to_owned()),
                    "text" if word(part, "text").trim().is_empty() => {
                        fault("an empty text in a result".to_owned());
                    }
                    "text" => {}
                    kind if is_error => fault(format!("an error with {kind} in it")),
                    _ => {}
                }
            }
        }
        Some(_) => fault("the content of a result is neither text nor blocks".to_owned()),
    }
}
