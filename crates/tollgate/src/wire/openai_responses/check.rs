//! What the Responses API refuses in a list of input items, read off its rules and nothing else.

use serde_json::Value;

use crate::wire::{Provider, calls::for_history, history::word, names::fits_history};

/// Every fault, in words.
pub(in crate::wire) fn check(history: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, item) in history.iter().enumerate() {
        let mut fault = |text: String| faults.push(format!("item {at}: {text}"));
        let id = word(item, "call_id");
        match word(item, "type") {
            _ if !item.is_object() => fault("not an object".to_owned()),
            "function_call" | "custom_tool_call" => {
                if id.is_empty() {
                    fault("a call without call_id".to_owned());
                }
                if !fits_history(Provider::OpenAiResponses, word(item, "name")) {
                    fault(format!("the name {:?} is not accepted", word(item, "name")));
                }
                if word(item, "type") == "function_call"
                    && item["arguments"].as_str().is_none_or(|text| for_history(text) != text)
                {
                    fault("arguments are not an object in a string".to_owned());
                }
                let answers = answers_of(history, at);
                if answers != 1 {
                    fault(format!("call {id:?} has {answers} results"));
                }
            }
            "function_call_output" | "custom_tool_call_output" => {
                let call = history[..at].iter().rposition(|other| answers(item, other));
                if call.is_none_or(|call| history[call..at].iter().any(is_user)) {
                    fault(format!("result {id:?} has no call before it in its turn"));
                }
                match &item["output"] {
                    Value::String(_) => {}
                    Value::Array(parts) if !parts.is_empty() => {}
                    _ => fault("a result without output".to_owned()),
                }
            }
            "reasoning" if !led_to(item, history.get(at + 1)) => {
                fault("reasoning without the item it led to".to_owned());
            }
            _ => {}
        }
    }
    faults
}

fn is_call(item: &Value) -> bool {
    matches!(word(item, "type"), "function_call" | "custom_tool_call")
}

fn answers(item: &Value, call: &Value) -> bool {
    is_call(call)
        && word(item, "type").strip_suffix("_output") == Some(word(call, "type"))
        && word(item, "call_id") == word(call, "call_id")
}

fn is_user(item: &Value) -> bool {
    matches!(word(item, "role"), "user" | "system" | "developer")
        && matches!(word(item, "type"), "" | "message")
}

/// How many results a call has until its turn, or its id, comes again.
fn answers_of(history: &[Value], at: usize) -> usize {
    let id = word(&history[at], "call_id");
    let mut answers = 0;
    for item in &history[at + 1..] {
        if is_user(item) || is_call(item) && word(item, "call_id") == id {
            break;
        }
        answers += usize::from(self::answers(item, &history[at]));
    }
    answers
}

fn led_to(thought: &Value, next: Option<&Value>) -> bool {
    let Some(next) = next else { return false };
    let by_model = match word(next, "type") {
        "" | "message" => word(next, "role") == "assistant",
        kind => !kind.ends_with("_output") && kind != "additional_tools",
    };
    by_model && (word(thought, "id").is_empty() || !word(next, "id").is_empty())
}
