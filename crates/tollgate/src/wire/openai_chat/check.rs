//! What a chat completions server refuses in a history, read off its rules and nothing else.

use serde_json::Value;

use crate::wire::{Provider, calls::for_history, history::word, names::fits_history};

/// Every fault, in words.
pub(in crate::wire) fn check(history: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    // The ids that are still to be answered by the messages right here.
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in history.iter().enumerate() {
        let mut fault = |text: String| faults.push(format!("message {at}: {text}"));
        if word(message, "role") == "tool" {
            let id = word(message, "tool_call_id");
            match open.iter().position(|open| *open == id) {
                Some(at) => drop(open.remove(at)),
                None => fault(format!("result {id:?} does not follow its call")),
            }
            match &message["content"] {
                Value::String(_) => {}
                Value::Array(parts)
                    if !parts.is_empty() && parts.iter().all(|part| word(part, "type") == "text") => {}
                _ => fault("the content of a result is not text".to_owned()),
            }
            continue;
        }
        for id in open.drain(..) {
            fault(format!("call {id:?} has no result before this"));
        }
        match word(message, "role") {
            "" => fault("no role".to_owned()),
            "assistant" => open = assistant(message, &mut fault),
            _ => {}
        }
    }
    faults.extend(open.into_iter().map(|id| format!("call {id:?} has no result")));
    faults
}

fn assistant<'a>(message: &'a Value, fault: &mut impl FnMut(String)) -> Vec<&'a str> {
    let mut ids = Vec::new();
    let calls = match message.get("tool_calls") {
        None => {
            let speaks = ["content", "refusal", "audio", "function_call"];
            if speaks.iter().all(|key| message[*key].is_null()) {
                fault("neither content nor calls".to_owned());
            }
            return ids;
        }
        Some(Value::Array(calls)) if !calls.is_empty() => calls,
        Some(_) => {
            fault("tool_calls is empty or no array".to_owned());
            return ids;
        }
    };
    for call in calls {
        let (id, name) = (word(call, "id"), word(&call["function"], "name"));
        if id.is_empty() || ids.contains(&id) {
            fault(format!("the id {id:?} of a call is empty or a second one"));
        }
        ids.push(id);
        match word(call, "type") {
            "function" => {}
            "" => fault("a call without a type".to_owned()),
            _ => continue,
        }
        if !fits_history(Provider::OpenAiChat, name) {
            fault(format!("the name {name:?} is not accepted"));
        }
        if call["function"]["arguments"].as_str().is_none_or(|text| for_history(text) != text) {
            fault("arguments are not an object in a string".to_owned());
        }
    }
    ids
}
