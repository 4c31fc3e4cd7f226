//! A chat history is one the API takes: `role: tool` messages right after the calls, one for each id.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::wire::{
    Provider,
    calls::{CallIds, for_history},
    history::{NO_OUTPUT, RepairReport, missing_result, word},
    names,
};

/// Puts a list of messages right.
pub(in crate::wire) fn repair(history: &mut Vec<Value>, report: &mut RepairReport) {
    let mut messages = Vec::with_capacity(history.len());
    for mut message in std::mem::take(history) {
        match word(&message, "role") {
            "" => report.drop("something that is not a message"),
            "assistant" => {
                clean_assistant(&mut message, report);
                messages.push(message);
            }
            "tool" => {
                mend_result(&mut message, report);
                messages.push(message);
            }
            _ => messages.push(message),
        }
    }
    *history = answer_calls(messages, report);
}

/// A message of the assistant's as it may stand in a history.
pub(super) fn tidy_assistant(message: Map<String, Value>) -> Value {
    let mut message = Value::Object(message);
    message["role"] = json!("assistant");
    clean_assistant(&mut message, &mut RepairReport::default());
    message
}

fn clean_assistant(message: &mut Value, report: &mut RepairReport) {
    let mut ids = CallIds::default();
    let mut seen = HashSet::new();
    let Some(fields) = message.as_object_mut() else { return };
    let keeps_calls = match fields.get_mut("tool_calls") {
        None => true,
        Some(Value::Array(calls)) => {
            calls.retain_mut(|call| {
                let kept = mend_call(call, &mut ids, report) && seen.insert(word(call, "id").to_owned());
                if !kept {
                    report.drop("a second call of one id, or something that is no call");
                }
                kept
            });
            !calls.is_empty()
        }
        Some(_) => false,
    };
    if !keeps_calls {
        report.mend("an empty list of calls, which is refused");
        fields.shift_remove("tool_calls");
    }
    let silent = fields.get("content").is_none_or(Value::is_null);
    let says_else = ["tool_calls", "refusal", "audio", "function_call"];
    if silent && !says_else.iter().any(|key| fields.get(*key).is_some_and(|value| !value.is_null())) {
        report.mend("a message of the assistant's without content");
        fields.insert("content".to_owned(), json!(""));
    }
}

/// False for what is no call at all.
fn mend_call(call: &mut Value, ids: &mut CallIds, report: &mut RepairReport) -> bool {
    if !call.is_object() {
        return false;
    }
    if word(call, "id").is_empty() {
        report.mend("a call without an id");
        call["id"] = json!(ids.make());
    }
    ids.take(word(call, "id"));
    if word(call, "type").is_empty() {
        report.mend("a call without a type");
        call["type"] = json!("function");
    }
    if word(call, "type") != "function" {
        return true;
    }
    if !call.get("function").is_some_and(Value::is_object) {
        report.mend("a call without a function");
        call["function"] = json!({});
    }
    let function = &mut call["function"];
    if !names::fits_history(Provider::OpenAiChat, word(function, "name")) {
        report.mend("the name of a call");
        function["name"] = json!(names::for_history(Provider::OpenAiChat, word(function, "name")));
    }
    let arguments = function.get("arguments").and_then(Value::as_str);
    if arguments.is_none_or(|text| for_history(text) != text) {
        report.mend("the arguments of a call, which were not an object");
        function["arguments"] = json!("{}");
    }
    true
}

/// A result is a text, or parts that are texts.
fn mend_result(message: &mut Value, report: &mut RepairReport) {
    let fixed = match message.get_mut("content") {
        Some(Value::String(_)) => return,
        Some(Value::Array(parts)) => {
            let before = parts.len();
            parts.retain(|part| word(part, "type") == "text");
            match (parts.is_empty(), parts.len() == before) {
                (false, true) => return,
                (false, false) => return report.mend("a result that was not all text"),
                (true, _) => json!(NO_OUTPUT),
            }
        }
        None | Some(Value::Null) => json!(NO_OUTPUT),
        Some(other) => json!(other.to_string()),
    };
    report.mend("the content of a result");
    message["content"] = fixed;
}

/// What is known of a call's result.
enum Found {
    Nowhere,
    InPlace,
    Late(Value),
}

struct Turn {
    ids: Vec<String>,
    found: Vec<Found>,
}

/// Gives every call its one result, right after the message of the calls.
fn answer_calls(messages: Vec<Value>, report: &mut RepairReport) -> Vec<Value> {
    let mut turns: HashMap<usize, Turn> = HashMap::new();
    let mut latest: HashMap<String, (usize, usize)> = HashMap::new();
    // The message of calls whose results may stand here.
    let mut current = None;
    let mut kept: Vec<Option<Value>> = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        if word(&message, "role") != "tool" {
            let ids = ids_of(&message);
            current = (!ids.is_empty()).then_some(at);
            latest.extend(ids.iter().enumerate().map(|(place, id)| (id.clone(), (at, place))));
            if !ids.is_empty() {
                let found = ids.iter().map(|_| Found::Nowhere).collect();
                turns.insert(at, Turn { ids, found });
            }
            kept.push(Some(message));
            continue;
        }
        let call = latest.get(word(&message, "tool_call_id")).copied();
        kept.push(
            match call.and_then(|(owner, place)| Some((owner, turns.get_mut(&owner)?.found.get_mut(place)?)))
            {
                None => {
                    report.drop("a result without its call");
                    None
                }
                Some((owner, found @ Found::Nowhere)) if Some(owner) == current => {
                    *found = Found::InPlace;
                    Some(message)
                }
                Some((_, found @ Found::Nowhere)) => {
                    report.shift("a result that came late");
                    *found = Found::Late(message);
                    None
                }
                Some(_) => {
                    report.drop("a second result of one call");
                    None
                }
            },
        );
    }
    place(kept, turns, report)
}

fn place(
    messages: Vec<Option<Value>>,
    mut turns: HashMap<usize, Turn>,
    report: &mut RepairReport,
) -> Vec<Value> {
    let mut out = Vec::with_capacity(messages.len());
    let mut due: Vec<Value> = Vec::new();
    for (at, message) in messages.into_iter().enumerate() {
        let Some(message) = message else { continue };
        // The results that stand in place come first, then the others, then whatever follows.
        if word(&message, "role") != "tool" {
            out.append(&mut due);
        }
        out.push(message);
        for (id, found) in turns.remove(&at).into_iter().flat_map(|turn| turn.ids.into_iter().zip(turn.found))
        {
            match found {
                Found::InPlace => {}
                Found::Late(result) => due.push(result),
                Found::Nowhere => {
                    report.answer(&id);
                    due.push(json!({"role": "tool", "tool_call_id": id, "content": missing_result()}));
                }
            }
        }
    }
    out.append(&mut due);
    out
}

fn ids_of(message: &Value) -> Vec<String> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.filter(|_| word(message, "role") == "assistant");
    calls.into_iter().flatten().map(|call| word(call, "id").to_owned()).collect()
}
