//! The blocks of one message are ones the Messages API takes, in an order it takes.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::wire::{
    Provider,
    calls::CallIds,
    history::{NO_OUTPUT, NO_REASON, RepairReport, is_blank, word},
    names,
};

/// The blocks of an assistant message as they may stand in a history.
pub(super) fn tidy_assistant(blocks: Vec<Value>) -> Vec<Value> {
    clean_assistant(blocks, &mut RepairReport::default())
}

pub(super) fn clean_assistant(blocks: Vec<Value>, report: &mut RepairReport) -> Vec<Value> {
    let mut ids = CallIds::default();
    let mut seen = HashSet::new();
    let mut clean: Vec<Value> = Vec::with_capacity(blocks.len());
    let mut first_call = None;
    for mut block in blocks {
        match word(&block, "type") {
            "" => report.drop("a content block without a type"),
            "text" if is_blank(word(&block, "text")) => report.drop("an empty text"),
            "tool_result" => report.drop("a result in the assistant's message"),
            // What a cut stream leaves of a thought is not signed, and refused.
            "thinking" if word(&block, "signature").is_empty() => report.drop("an unsigned thought"),
            "text" => match first_call {
                Some(at) => {
                    report.shift("a text that stood after a call");
                    clean.insert(at, block);
                    first_call = Some(at + 1);
                }
                None => clean.push(block),
            },
            "tool_use" => {
                mend_call(&mut block, &mut ids, report);
                if seen.insert(word(&block, "id").to_owned()) {
                    first_call.get_or_insert(clean.len());
                    clean.push(block);
                } else {
                    report.drop("a second call of one id");
                }
            }
            _ => clean.push(block),
        }
    }
    clean
}

fn mend_call(block: &mut Value, ids: &mut CallIds, report: &mut RepairReport) {
    if word(block, "id").is_empty() {
        report.mend("a call without an id");
        block["id"] = json!(ids.make());
    }
    ids.take(word(block, "id"));
    let name = word(block, "name");
    if !names::fits_history(Provider::Anthropic, name) {
        report.mend("the name of a call");
        let fitting = names::for_history(Provider::Anthropic, name).into_owned();
        block["name"] = json!(fitting);
    }
    if !block.get("input").is_some_and(Value::is_object) {
        report.mend("the input of a call, which was not an object");
        block["input"] = json!({});
    }
}

pub(super) fn clean_user(blocks: Vec<Value>, report: &mut RepairReport) -> Vec<Value> {
    let mut clean = Vec::with_capacity(blocks.len());
    for mut block in blocks {
        match word(&block, "type") {
            "" => report.drop("a content block without a type"),
            "text" if is_blank(word(&block, "text")) => report.drop("an empty text"),
            "tool_use" => report.drop("a call in the user's message"),
            "tool_result" => {
                mend_result(&mut block, report);
                clean.push(block);
            }
            _ => clean.push(block),
        }
    }
    clean
}

/// An error is a text and not an empty one; a result has no empty texts in it.
fn mend_result(block: &mut Value, report: &mut RepairReport) {
    let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    let blank = if is_error { NO_REASON } else { NO_OUTPUT };
    let fixed = match block.get_mut("content") {
        None if is_error => json!(blank),
        Some(Value::String(text)) if is_error && is_blank(text) => json!(blank),
        None | Some(Value::String(_)) => return,
        Some(Value::Array(parts)) => {
            let before = parts.len();
            parts.retain(|part| {
                let text = is(part, "text");
                if text { !is_blank(word(part, "text")) } else { !is_error && !word(part, "type").is_empty() }
            });
            match (parts.is_empty(), parts.len() == before) {
                (false, true) => return,
                (false, false) => return report.mend("the content of a result"),
                (true, _) => json!(blank),
            }
        }
        Some(Value::Null) => json!(blank),
        Some(other) => json!(other.to_string()),
    };
    report.mend("the content of a result");
    block["content"] = fixed;
}

pub(super) fn is(block: &Value, kind: &str) -> bool {
    word(block, "type") == kind
}

pub(super) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
