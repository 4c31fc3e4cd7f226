//! A whole chat completion, or a bare assistant message, becomes a turn.

use serde_json::{Map, Value, json, value::RawValue};

use super::repair::tidy_assistant;
use crate::{
    call::Proposed,
    wire::{
        ModelTurn, Provider, Stop, Usage, WireError,
        body::Body,
        calls::{Arguments, CallIds, stands_twice},
        envelope::{Fields, Shape, describe_error, items_or_one, not_a_turn, provider_error, value_of},
        loose::Loose,
        track::{count, count_in},
        turn::Draft,
    },
};

/// What of a message goes back to the server with it; the rest of an answer is not part of a question.
const KEPT: [&str; 6] = ["role", "content", "refusal", "reasoning", "reasoning_content", "reasoning_details"];

/// Reads a response body with its `choices`, or a bare assistant message.
pub fn read_turn(body: &[u8]) -> Result<ModelTurn, WireError> {
    let body = Body::decode(body)?;
    let draft = body.json().and_then(read);
    body.finish(draft)
}

fn read(raw: &RawValue) -> Result<Draft, WireError> {
    let odd = |missing: &str, fields| not_a_turn(Provider::OpenAiChat, missing, fields);
    let fields = Fields::read(raw).ok_or_else(|| odd("it is not an object", None))?;
    let mut found = Found::default();
    if fields.get("choices").is_none() {
        if let Some(error) = provider_error(&fields) {
            return Err(error);
        }
        if fields.get("tool_calls").is_none() && !fields.says("role", "assistant") {
            return Err(odd("it has neither `choices` nor a message of the assistant", Some(&fields)));
        }
        found.message(&fields);
        return Ok(found.draft(None));
    }
    let mut finish = None;
    for choices in fields.all("choices") {
        let (choices, shape) =
            items_or_one(choices).ok_or_else(|| odd("its `choices` is not an array", None))?;
        // More choices than one are alternatives: only the first is the turn.
        let Some(choice) = choices.first().copied().and_then(Fields::read) else {
            return Err(provider_error(&fields).unwrap_or_else(|| odd("its `choices` is empty", None)));
        };
        for message in choice.all("message") {
            let message = Fields::read(message).ok_or_else(|| odd("its `message` is not an object", None))?;
            found.message(&message);
        }
        let twice = fields.twice(&["choices"]).or_else(|| choice.twice(&["message", "finish_reason"]));
        found.breaks(twice.map(stands_twice));
        found.breaks((shape == Shape::Alone).then(|| "`choices` is not a list.".to_owned()));
        finish = choice.text("finish_reason");
    }
    let failed = fields.present("error").map(|error| {
        let (kind, message) = describe_error(error);
        Stop::ProviderFailed { kind, message }
    });
    let mut draft = found.draft(failed.or_else(|| finish.and_then(|word| stop_of(&word))));
    draft.usage = fields.present("usage").and_then(usage_of);
    Ok(draft)
}

#[derive(Default)]
struct Found {
    text: String,
    refusal: bool,
    calls: Vec<Proposed>,
    message: Map<String, Value>,
    faults: Vec<String>,
    ids: CallIds,
    /// Why none of the calls may run.
    broken: Option<String>,
}

impl Found {
    fn breaks(&mut self, reason: Option<String>) {
        self.broken = self.broken.take().or(reason);
    }

    fn message(&mut self, message: &Fields<'_>) {
        self.breaks(message.twice(&["role", "content", "tool_calls"]).map(stands_twice));
        let other_role = message.text("role").filter(|role| role != "assistant");
        self.breaks(other_role.map(|_| "The message of the call is not the assistant's.".to_owned()));
        if let Some(content) = Loose::of(message.get("content")).into_text() {
            self.text.push_str(&content);
        }
        if let Some(refusal) = message.text("refusal").filter(|text| !text.is_empty()) {
            self.refusal = true;
            self.text.push_str(&refusal);
        }
        for key in KEPT {
            if let Some(value) = message.present(key).and_then(value_of) {
                self.message.insert(key.to_owned(), value);
            }
        }
        let mut entries: Vec<Value> = Vec::new();
        for list in message.all("tool_calls").filter(|list| list.get() != "null") {
            let Some((items, shape)) = items_or_one(list) else {
                self.faults.push("`tool_calls` is not an array.".to_owned());
                continue;
            };
            items.into_iter().for_each(|item| self.call(item, &mut entries));
            self.breaks((shape == Shape::Alone).then(|| "`tool_calls` is not a list.".to_owned()));
        }
        self.old_call(message, &mut entries);
        if !entries.is_empty() {
            self.message.insert("tool_calls".to_owned(), Value::Array(entries));
        }
    }

    fn call(&mut self, raw: &RawValue, entries: &mut Vec<Value>) {
        let Some(item) = Fields::read(raw) else {
            self.faults.push("A tool call is not an object.".to_owned());
            return;
        };
        let call = call_of(&item, &mut self.ids);
        entries.push(call_entry(&call, item.present("extra_content").and_then(value_of)));
        self.calls.push(call);
    }

    /// The form before `tool_calls`, which had no ids: it can only be answered, not run.
    fn old_call(&mut self, message: &Fields<'_>, entries: &mut Vec<Value>) {
        let Some(function) = message.present("function_call").and_then(Fields::read) else { return };
        if function.text("name").is_none_or(|name| name.is_empty()) {
            return;
        }
        let head = self.ids.head(Loose::Null, Loose::of(function.get("name")));
        let call = Arguments::of(function.get("arguments")).onto(head);
        entries.push(call_entry(&call, None));
        self.calls.push(call);
    }

    fn draft(self, stop: Option<Stop>) -> Draft {
        let declined = self.refusal && self.calls.is_empty() && matches!(stop, None | Some(Stop::EndTurn));
        let mut draft = Draft {
            text: self.text,
            calls: self.calls,
            stop: if declined { Some(Stop::Refusal) } else { stop },
            usage: None,
            message: tidy_assistant(self.message),
            faults: self.faults,
        };
        if let Some(reason) = self.broken {
            draft.break_all(&reason);
        }
        draft
    }
}

fn call_of(item: &Fields<'_>, ids: &mut CallIds) -> Proposed {
    let function = item.present("function").and_then(Fields::read);
    let of = |key: &str| function.as_ref().and_then(|function| function.get(key));
    let head = ids.head(Loose::of(item.get("id")), Loose::of(of("name")));
    let call = Arguments::of(of("arguments")).onto(head);
    let twice = item.twice(&["id", "type", "function"]);
    if let Some(key) = twice.or_else(|| function.as_ref().and_then(|it| it.twice(&["name", "arguments"]))) {
        return call.broken(stands_twice(key));
    }
    match item.text("type") {
        Some(kind) if kind != "function" => {
            call.broken(format!("A call of type {kind:?} was never offered."))
        }
        _ => call,
    }
}

/// The call as it stands in a history. `extra` is what some servers want back untouched.
pub(super) fn call_entry(call: &Proposed, extra: Option<Value>) -> Value {
    let name = crate::wire::names::for_history(Provider::OpenAiChat, &call.name);
    let arguments = crate::wire::calls::for_history(call.input.as_str());
    let mut entry = json!({
        "id": call.id.as_str(),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    });
    if let Some(extra) = extra {
        entry["extra_content"] = extra;
    }
    entry
}

/// Why the model stopped; `None` where the server left it open.
pub(super) fn stop_of(word: &str) -> Option<Stop> {
    Some(match word {
        "" => return None,
        "stop" => Stop::EndTurn,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "length" => Stop::MaxTokens,
        "content_filter" => Stop::ContentFilter,
        "error" => Stop::Failed("the provider failed".to_owned()),
        other => Stop::Other(crate::json::shorten(other, 40)),
    })
}

pub(super) fn usage_of(raw: &RawValue) -> Option<Usage> {
    let usage = Fields::read(raw)?;
    Some(Usage {
        input_tokens: count(&usage, "prompt_tokens"),
        output_tokens: count(&usage, "completion_tokens"),
        cache_read_tokens: count_in(&usage, "prompt_tokens_details", "cached_tokens"),
        cache_write_tokens: count_in(&usage, "prompt_tokens_details", "cache_write_tokens"),
        reasoning_tokens: count_in(&usage, "completion_tokens_details", "reasoning_tokens"),
    })
}
