//! A whole response, or its bare output items, becomes a turn.

use serde_json::{Map, Value, json, value::RawValue};

use super::repair::tidy_items;
use crate::{
    call::Proposed,
    wire::{
        ModelTurn, Provider, Stop, Usage, WireError,
        body::Body,
        calls::{self, Arguments, CallIds, stands_twice},
        envelope::{
            Fields, Shape, describe_error, items_of, items_or_one, not_a_turn, provider_error, value_of,
        },
        loose::Loose,
        names,
        track::{count, count_in},
        turn::Draft,
    },
};

/// Reads a response body with its `output`, a bare array of output items, or a single item.
pub fn read_turn(body: &[u8]) -> Result<ModelTurn, WireError> {
    let body = Body::decode(body)?;
    let draft = body.json().and_then(read);
    body.finish(draft)
}

fn read(raw: &RawValue) -> Result<Draft, WireError> {
    let odd = |missing: &str, fields| not_a_turn(Provider::OpenAiResponses, missing, fields);
    let mut found = Found::default();
    if let Some(items) = items_of(raw) {
        items.into_iter().for_each(|item| found.item(item));
        return Ok(found.draft(None));
    }
    let fields = Fields::read(raw).ok_or_else(|| odd("it is neither an object nor an array", None))?;
    let outputs: Vec<_> = fields.all("output").collect();
    let empty = outputs.iter().all(|output| matches!(output.get(), "[]" | "null"));
    if let Some(error) = provider_error(&fields).filter(|_| empty) {
        return Err(error);
    }
    if outputs.is_empty() {
        if !["function_call", "custom_tool_call", "message", "reasoning"]
            .iter()
            .any(|kind| fields.says("type", kind))
        {
            return Err(odd("it has no `output`", Some(&fields)));
        }
        found.item(raw);
        return Ok(found.draft(None));
    }
    found.broken = fields.twice(&["output", "status"]).map(stands_twice);
    for output in outputs {
        let (items, shape) = items_or_one(output).ok_or_else(|| odd("its `output` is not an array", None))?;
        items.into_iter().for_each(|item| found.item(item));
        if shape == Shape::Alone {
            found.broken = Some("The call stands alone where a list of items belongs.".to_owned());
        }
    }
    Ok(found.draft(Some(&fields)))
}

#[derive(Default)]
struct Found {
    text: String,
    refusal: bool,
    calls: Vec<Proposed>,
    items: Vec<Value>,
    faults: Vec<String>,
    ids: CallIds,
    /// Why none of the calls may run.
    broken: Option<String>,
}

impl Found {
    fn item(&mut self, raw: &RawValue) {
        let Some(item) = Fields::read(raw) else {
            self.faults.push("An output item is not an object.".to_owned());
            return;
        };
        if is_call(&item) {
            let call = whole(call_of(&item, &mut self.ids), &item);
            self.items.push(call_item(raw, &call));
            self.calls.push(call);
            return;
        }
        if item.says("type", "message") {
            let (text, refusal) = message_text(&item);
            self.text.push_str(&text);
            self.refusal |= refusal;
        }
        self.items.extend(value_of(raw));
    }

    fn draft(self, response: Option<&Fields<'_>>) -> Draft {
        let refused = self.refusal && self.calls.is_empty();
        let mut draft = Draft {
            text: self.text,
            calls: self.calls,
            stop: response.and_then(stop_of).or_else(|| refused.then_some(Stop::Refusal)),
            usage: response.and_then(|fields| fields.present("usage")).and_then(usage_of),
            message: Value::Array(tidy_items(self.items)),
            faults: self.faults,
        };
        if let Some(reason) = self.broken {
            draft.break_all(&reason);
        }
        draft
    }
}

/// True for an item that waits for an answer from outside.
pub(super) fn is_call(item: &Fields<'_>) -> bool {
    item.says("type", FUNCTION) || item.says("type", CUSTOM)
}

const FUNCTION: &str = "function_call";

/// A call whose input is any text: offered to nobody here, so none of them can be run; all are answered.
pub(super) const CUSTOM: &str = "custom_tool_call";

/// The call an item is, or is becoming.
pub(super) fn call_of(item: &Fields<'_>, ids: &mut CallIds) -> Proposed {
    let head = ids.head(Loose::of(item.get("call_id")), Loose::of(item.get("name")));
    let call = Arguments::of(item.get("arguments")).onto(head);
    match item.twice(&["type", "call_id", "name", "arguments", "status"]) {
        Some(key) => call.broken(stands_twice(key)),
        None if item.says("type", CUSTOM) => call.broken(
            "It is a call with free text (`custom_tool_call`), and every tool here takes JSON arguments: \
             propose it as a function call.",
        ),
        None => call,
    }
}

/// The same, broken unless the item says that nothing more comes.
pub(super) fn whole(call: Proposed, item: &Fields<'_>) -> Proposed {
    match item.text("status").as_deref() {
        None | Some("completed" | "") => call,
        Some(status) => call.broken(format!("The call is marked {status:?}: it is not whole.")),
    }
}

/// The item as it may stand in a history.
pub(super) fn call_item(raw: &RawValue, call: &Proposed) -> Value {
    let mut item = match value_of(raw) {
        Some(Value::Object(item)) => item,
        _ => Map::new(),
    };
    item.insert("call_id".to_owned(), json!(call.id.as_str()));
    item.insert("name".to_owned(), json!(names::for_history(Provider::OpenAiResponses, &call.name)));
    if item.get("type").is_some_and(|kind| kind == CUSTOM) {
        if !item.get("input").is_some_and(Value::is_string) {
            item.insert("input".to_owned(), json!(""));
        }
    } else {
        item.insert("type".to_owned(), json!(FUNCTION));
        item.insert("arguments".to_owned(), json!(calls::for_history(call.input.as_str())));
    }
    Value::Object(item)
}

/// The text of a `message` item, and whether part of it is a refusal.
pub(super) fn message_text(item: &Fields<'_>) -> (String, bool) {
    let (mut text, mut refusal) = (String::new(), false);
    let Some(content) = item.get("content") else { return (text, refusal) };
    if let Some(plain) = crate::wire::envelope::text_of(content) {
        return (plain.into_owned(), false);
    }
    for part in items_of(content).unwrap_or_default().into_iter().filter_map(Fields::read) {
        if part.says("type", "refusal") {
            refusal = true;
            text.push_str(&part.text("refusal").unwrap_or_default());
        } else {
            text.push_str(&part.text("text").unwrap_or_default());
        }
    }
    (text, refusal)
}

/// Why a response stopped; `None` where it is complete, so that its calls decide.
pub(super) fn stop_of(response: &Fields<'_>) -> Option<Stop> {
    let status = response.text("status")?;
    match &*status {
        "completed" => None,
        "incomplete" => {
            let details = response.get("incomplete_details").and_then(Fields::read);
            Some(match details.and_then(|details| details.text("reason")).as_deref() {
                Some("max_output_tokens") | None => Stop::MaxTokens,
                Some("content_filter") => Stop::ContentFilter,
                Some(other) => Stop::Other(crate::json::shorten(other, 40)),
            })
        }
        "failed" => Some(failure_of(response)),
        other => Some(Stop::Failed(format!("the response is {}", crate::json::shorten(other, 40)))),
    }
}

/// What a failed response says about it.
fn failure_of(response: &Fields<'_>) -> Stop {
    match response.present("error").map(describe_error) {
        Some((kind, message)) => Stop::ProviderFailed { kind, message },
        None => Stop::Failed("the provider failed".to_owned()),
    }
}

pub(super) fn usage_of(raw: &RawValue) -> Option<Usage> {
    let usage = Fields::read(raw)?;
    Some(Usage {
        input_tokens: count(&usage, "input_tokens"),
        output_tokens: count(&usage, "output_tokens"),
        cache_read_tokens: count_in(&usage, "input_tokens_details", "cached_tokens"),
        cache_write_tokens: count_in(&usage, "input_tokens_details", "cache_write_tokens"),
        reasoning_tokens: count_in(&usage, "output_tokens_details", "reasoning_tokens"),
    })
}
