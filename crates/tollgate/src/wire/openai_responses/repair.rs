//! A Responses input is one the API takes: an output for every call, thoughts before what they led to.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::wire::{
    Provider,
    calls::{CallIds, for_history},
    history::{NO_OUTPUT, RepairReport, missing_result, word},
    names,
};

/// The calls that are answered from outside, and what their answers are called.
const PAIRS: [(&str, &str); 2] =
    [("function_call", "function_call_output"), ("custom_tool_call", "custom_tool_call_output")];

/// Puts a list of input items right.
pub(in crate::wire) fn repair(history: &mut Vec<Value>, report: &mut RepairReport) {
    let items = clean(std::mem::take(history), report);
    *history = keep_thoughts_with_their_items(answer_calls(items, report), report);
}

/// The items of one turn as they may stand in a history; results are another matter.
pub(super) fn tidy_items(items: Vec<Value>) -> Vec<Value> {
    let mut report = RepairReport::default();
    keep_thoughts_with_their_items(clean(items, &mut report), &mut report)
}

fn answer_kind(call: &str) -> Option<&'static str> {
    PAIRS.iter().find(|(kind, _)| *kind == call).map(|(_, answer)| *answer)
}

fn is_answer(kind: &str) -> bool {
    PAIRS.iter().any(|(_, answer)| *answer == kind)
}

/// A message of anybody but the model begins something new: results do not reach across it.
fn is_boundary(item: &Value) -> bool {
    matches!(word(item, "type"), "" | "message")
        && matches!(word(item, "role"), "user" | "system" | "developer")
}

fn clean(items: Vec<Value>, report: &mut RepairReport) -> Vec<Value> {
    let mut ids = CallIds::default();
    let mut open: HashMap<String, &str> = HashMap::new();
    let mut clean = Vec::with_capacity(items.len());
    for mut item in items {
        let kind = word(&item, "type").to_owned();
        if !item.is_object() {
            report.drop("something that is not an item");
            continue;
        }
        if let Some(answer) = answer_kind(&kind) {
            mend_call(&mut item, &mut ids, report);
            // The same id again before any answer is the same call twice.
            if open.contains_key(word(&item, "call_id")) {
                report.drop("a second call of one id");
                continue;
            }
            open.insert(word(&item, "call_id").to_owned(), answer);
        } else if is_answer(&kind) {
            if open.get(word(&item, "call_id")) == Some(&kind.as_str()) {
                open.remove(word(&item, "call_id"));
            }
            mend_answer(&mut item, report);
        } else if is_boundary(&item) {
            open.clear();
        }
        clean.push(item);
    }
    clean
}

fn mend_call(item: &mut Value, ids: &mut CallIds, report: &mut RepairReport) {
    if word(item, "call_id").is_empty() {
        report.mend("a call without an id");
        item["call_id"] = json!(ids.make());
    }
    ids.take(word(item, "call_id"));
    if !names::fits_history(Provider::OpenAiResponses, word(item, "name")) {
        report.mend("the name of a call");
        item["name"] = json!(names::for_history(Provider::OpenAiResponses, word(item, "name")));
    }
    if word(item, "type") == "function_call" {
        let arguments = item.get("arguments").and_then(Value::as_str);
        if arguments.is_none_or(|text| for_history(text) != text) {
            report.mend("the arguments of a call, which were not an object");
            item["arguments"] = json!("{}");
        }
    }
}

fn mend_answer(item: &mut Value, report: &mut RepairReport) {
    match item.get("output") {
        Some(Value::String(_)) => {}
        Some(Value::Array(parts)) if !parts.is_empty() => {}
        None | Some(Value::Null | Value::Array(_)) => {
            report.mend("the output of a result");
            item["output"] = json!(NO_OUTPUT);
        }
        Some(other) => {
            report.mend("the output of a result");
            let text = other.to_string();
            item["output"] = json!(text);
        }
    }
}

/// What is known of a call's answer.
struct Asked {
    at: usize,
    section: usize,
    answered: bool,
}

/// Answers that do not stand in their place, by the place of the call they belong to.
type Due = BTreeMap<usize, Value>;

/// Gives every call its one answer: in its section, after it.
fn answer_calls(items: Vec<Value>, report: &mut RepairReport) -> Vec<Value> {
    let mut latest: HashMap<(String, String), Asked> = HashMap::new();
    let mut unanswered: BTreeMap<usize, &'static str> = BTreeMap::new();
    let mut due = Due::new();
    let mut kept: Vec<Option<Value>> = Vec::with_capacity(items.len());
    let mut section = 0;
    for (at, item) in items.into_iter().enumerate() {
        section += usize::from(is_boundary(&item));
        let (kind, id) = (word(&item, "type"), word(&item, "call_id"));
        if let Some(answer) = answer_kind(kind) {
            unanswered.insert(at, answer);
            latest.insert((answer.to_owned(), id.to_owned()), Asked { at, section, answered: false });
            kept.push(Some(item));
            continue;
        }
        if !is_answer(kind) {
            kept.push(Some(item));
            continue;
        }
        match latest.get_mut(&(kind.to_owned(), id.to_owned())) {
            None => report.drop("a result without its call"),
            Some(call) if call.answered => report.drop("a second result of one call"),
            Some(call) => {
                call.answered = true;
                unanswered.remove(&call.at);
                if call.section == section {
                    kept.push(Some(item));
                    continue;
                }
                report.shift("a result that came late");
                due.insert(call.at, item);
            }
        }
        kept.push(None);
    }
    for (at, answer) in unanswered {
        let id = kept[at].as_ref().map_or("", |call| word(call, "call_id"));
        report.answer(id);
        due.insert(at, json!({"type": answer, "call_id": id, "output": missing_result()}));
    }
    insert_due(kept, due)
}

/// Answers stand after the run of calls they belong to, and after the answers that already stand there.
fn insert_due(items: Vec<Option<Value>>, mut due: Due) -> Vec<Value> {
    let mut out = Vec::with_capacity(items.len() + due.len());
    let mut waiting: Vec<Value> = Vec::new();
    let mut answers_began = false;
    for (at, item) in items.into_iter().enumerate() {
        let Some(item) = item else { continue };
        let kind = word(&item, "type");
        let (is_call, is_answer) = (answer_kind(kind).is_some(), is_answer(kind));
        if !is_answer && (!is_call || answers_began) {
            out.append(&mut waiting);
        }
        answers_began = is_answer;
        waiting.extend(due.remove(&at));
        out.push(item);
    }
    out.append(&mut waiting);
    out
}

/// A thought that the API would miss the item of is left out: it is refused without.
fn keep_thoughts_with_their_items(items: Vec<Value>, report: &mut RepairReport) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::with_capacity(items.len());
    // From the back, so that of several thoughts in a row each sees what is kept of the next.
    for item in items.into_iter().rev() {
        if word(&item, "type") == "reasoning" && !kept.last().is_some_and(|next| follows_thought(&item, next))
        {
            report.drop("a thought without the item it led to");
        } else {
            kept.push(item);
        }
    }
    kept.reverse();
    kept
}

fn follows_thought(thought: &Value, next: &Value) -> bool {
    let kind = word(next, "type");
    let by_model = match kind {
        "" | "message" => word(next, "role") == "assistant",
        "item_reference" => true,
        _ => !is_answer(kind) && !kind.ends_with("_output") && kind != "additional_tools",
    };
    // A thought that has an id is looked up, and so is the item it led to.
    by_model && (word(thought, "id").is_empty() || !word(next, "id").is_empty())
}
