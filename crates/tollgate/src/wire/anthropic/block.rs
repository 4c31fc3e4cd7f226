//! One content block of a stream, from its start to what stands in the history.

use serde_json::{Map, Value, json, value::RawValue};

use super::turn::{call_block, call_of};
use crate::{
    call::Proposed,
    wire::{
        body::NOT_UTF8,
        calls::CallIds,
        envelope::{Fields, value_of},
    },
};

/// A content block, as far as it has come.
pub(super) struct Block {
    pub(super) index: u64,
    start: Box<RawValue>,
    pub(super) call: Option<Proposed>,
    pub(super) text: String,
    json: String,
    pub(super) thinking: String,
    pub(super) signature: String,
    pub(super) citations: Vec<Value>,
    pub(super) ended: bool,
    /// Bytes of it were not UTF-8.
    pub(super) damaged: bool,
}

impl Block {
    pub(super) fn begin(index: u64, start: &RawValue, fields: &Fields<'_>, ids: &mut CallIds) -> Self {
        Self {
            index,
            start: start.to_owned(),
            call: fields.says("type", "tool_use").then(|| call_of(fields, ids)),
            text: fields.text("text").unwrap_or_default().into_owned(),
            json: String::new(),
            thinking: fields.text("thinking").unwrap_or_default().into_owned(),
            signature: String::new(),
            citations: Vec::new(),
            ended: false,
            damaged: false,
        }
    }

    /// More of the arguments.
    pub(super) fn grow(&mut self, json: &str) {
        if self.ended && !json.is_empty() {
            self.call =
                self.call.take().map(|call| call.broken("Its arguments went on after they had ended."));
        }
        self.json.push_str(json);
    }

    /// Another block began under the same index.
    pub(super) fn shares_its_index(&mut self) {
        self.call =
            self.call.take().map(|call| call.broken("Two blocks of the stream began under one index."));
    }

    /// Gives the call the arguments that have come.
    pub(super) fn complete(&mut self) -> Option<&Proposed> {
        let mut call = self.call.take()?;
        // A block begins with an empty input and the real one follows; without any, the empty one it is.
        if !self.json.is_empty() {
            let placeholder = matches!(call.input.as_str(), "{}" | "null" | "\"\"");
            if !placeholder && call.input.as_str() != self.json {
                call = call.broken("The call began with other arguments than it went on with.");
            }
            call.input = std::mem::take(&mut self.json).into();
        }
        if self.damaged {
            call = call.unreadable(NOT_UTF8);
        }
        Some(self.call.insert(call))
    }

    /// The block as it stands in the history.
    pub(super) fn value(&self) -> Option<Value> {
        if let Some(call) = &self.call {
            return Some(call_block(&self.start, call));
        }
        let Value::Object(mut block) = value_of(&self.start)? else { return None };
        match block.get("type").and_then(Value::as_str) {
            Some("text") => put(&mut block, "text", &self.text),
            Some("thinking") => {
                put(&mut block, "thinking", &self.thinking);
                put(&mut block, "signature", &self.signature);
            }
            _ => {}
        }
        if !self.json.is_empty() {
            let input = serde_json::from_str(&self.json).ok().filter(Value::is_object);
            block.insert("input".to_owned(), input.unwrap_or_else(|| json!({})));
        }
        if !self.citations.is_empty() {
            block.insert("citations".to_owned(), Value::Array(self.citations.clone()));
        }
        Some(Value::Object(block))
    }
}

fn put(block: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        block.insert(key.to_owned(), Value::String(text.to_owned()));
    }
}
