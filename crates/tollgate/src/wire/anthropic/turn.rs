//! A whole Messages response, or a bare assistant message, becomes a turn.

use serde_json::{Map, Value, json, value::RawValue};

use super::tidy::tidy_assistant;
use crate::{
    call::{MAX_INPUT_BYTES, Proposed},
    wire::{
        ModelTurn, Provider, Stop, Usage, WireError,
        body::Body,
        calls::{self, CallIds, stands_twice},
        envelope::{Fields, Shape, items_or_one, not_a_turn, provider_error, text_of, value_of},
        loose::Loose,
        names,
        track::count,
        turn::Draft,
    },
};

/// Reads a whole response body, or a bare assistant message whose content is a text or blocks.
pub fn read_turn(body: &[u8]) -> Result<ModelTurn, WireError> {
    let body = Body::decode(body)?;
    let draft = body.json().and_then(read);
    body.finish(draft)
}

fn read(raw: &RawValue) -> Result<Draft, WireError> {
    let odd = |missing: &str, fields| not_a_turn(Provider::Anthropic, missing, fields);
    let fields = Fields::read(raw).ok_or_else(|| odd("it is not an object", None))?;
    if let Some(error) = provider_error(&fields) {
        return Err(error);
    }
    if fields.get("content").is_none() {
        return Err(odd("it has no `content`", Some(&fields)));
    }
    let twice = fields.twice(&["role", "content", "stop_reason"]);
    let mut found = Found { broken: twice.map(stands_twice), ..Found::default() };
    // Where `content` stands twice, the calls of both are found, to be refused.
    for content in fields.all("content") {
        found.content(content).ok_or_else(|| odd("its `content` is neither a text nor blocks", None))?;
    }
    if fields.text("role").is_some_and(|role| role != "assistant") {
        if found.calls.is_empty() {
            return Err(odd("its role is not `assistant`", None));
        }
        found.broken = Some("The message of the call is not the assistant's.".to_owned());
    }
    Ok(found.draft(&fields))
}

#[derive(Default)]
struct Found {
    text: String,
    calls: Vec<Proposed>,
    blocks: Vec<Value>,
    faults: Vec<String>,
    ids: CallIds,
    /// Why none of the calls may run.
    broken: Option<String>,
}

impl Found {
    fn content(&mut self, content: &RawValue) -> Option<()> {
        if content.get() == "null" {
            return Some(());
        }
        if let Some(text) = text_of(content) {
            self.blocks.push(json!({"type": "text", "text": text}));
            self.text.push_str(&text);
            return Some(());
        }
        let (blocks, shape) = items_or_one(content)?;
        blocks.into_iter().for_each(|block| self.block(block));
        if shape == Shape::Alone {
            self.broken = Some("The call stands alone where a list of blocks belongs.".to_owned());
        }
        Some(())
    }

    fn block(&mut self, raw: &RawValue) {
        let Some(block) = Fields::read(raw) else {
            self.faults.push("A content block is not an object.".to_owned());
            return;
        };
        if block.says("type", "tool_use") {
            let call = call_of(&block, &mut self.ids);
            self.blocks.push(call_block(raw, &call));
            self.calls.push(call);
            return;
        }
        if block.says("type", "text") {
            self.text.push_str(&block.text("text").unwrap_or_default());
        }
        self.blocks.extend(value_of(raw));
    }

    fn draft(self, fields: &Fields<'_>) -> Draft {
        let mut draft = Draft {
            text: self.text,
            calls: self.calls,
            stop: fields.text("stop_reason").map(|word| stop_of(&word)),
            usage: fields.present("usage").and_then(usage_of),
            message: json!({"role": "assistant", "content": tidy_assistant(self.blocks)}),
            faults: self.faults,
        };
        if let Some(reason) = self.broken {
            draft.break_all(&reason);
        }
        draft
    }
}

/// The call a `tool_use` block is, or is becoming.
pub(super) fn call_of(block: &Fields<'_>, ids: &mut CallIds) -> Proposed {
    let head = ids.head(Loose::of(block.get("id")), Loose::of(block.get("name")));
    // Arguments that are missing are not `{}`: read as JSON they are null, which no schema of arguments takes.
    let input = block.get("input").map_or("null", RawValue::get);
    let call = head.with(input);
    match block.twice(&["type", "id", "name", "input"]) {
        Some(key) => call.broken(stands_twice(key)),
        None => call,
    }
}

/// The block as it may stand in a history: under the id the call is answered by, with a name and an input that
/// are accepted there.
pub(super) fn call_block(raw: &RawValue, call: &Proposed) -> Value {
    // A block with its arguments is parsed for what else it holds, unless they are what nobody would send back.
    let fits = raw.get().len() <= 2 * MAX_INPUT_BYTES;
    let mut block = match value_of(raw).filter(|_| fits) {
        Some(Value::Object(block)) => block,
        _ => Map::new(),
    };
    block.insert("type".to_owned(), json!("tool_use"));
    block.insert("id".to_owned(), json!(call.id.as_str()));
    block.insert("name".to_owned(), json!(names::for_history(Provider::Anthropic, &call.name)));
    let input = serde_json::from_str(calls::for_history(call.input.as_str()));
    block.insert("input".to_owned(), input.unwrap_or_else(|_| json!({})));
    Value::Object(block)
}

pub(super) fn stop_of(word: &str) -> Stop {
    match word {
        "end_turn" => Stop::EndTurn,
        "tool_use" => Stop::ToolUse,
        "max_tokens" => Stop::MaxTokens,
        "stop_sequence" => Stop::StopSequence,
        "pause_turn" => Stop::PauseTurn,
        "refusal" => Stop::Refusal,
        "model_context_window_exceeded" => Stop::ContextFull,
        other => Stop::Other(crate::json::shorten(other, 40)),
    }
}

pub(super) fn usage_of(raw: &RawValue) -> Option<Usage> {
    let usage = Fields::read(raw)?;
    Some(Usage {
        input_tokens: count(&usage, "input_tokens"),
        output_tokens: count(&usage, "output_tokens"),
        cache_read_tokens: count(&usage, "cache_read_input_tokens"),
        cache_write_tokens: count(&usage, "cache_creation_input_tokens"),
        reasoning_tokens: crate::wire::track::count_in(&usage, "output_tokens_details", "thinking_tokens"),
    })
}
