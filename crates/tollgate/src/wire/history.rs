//! What is wrong with a history is put right before it leaves: every call has one result, in its place.

use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::{Provider, anthropic, openai_chat, openai_responses};

/// Puts a history right for its provider: messages, or for Responses the items of `input`.
///
/// A call without a result gets one that says so. Results nobody asked for, and second ones, are dropped. Results
/// stand where the provider wants them. Ids that come back in a later turn are told apart by position. A history
/// that is right is left as it is, to the byte; one that was put right stays so.
pub fn repair(provider: Provider, history: &mut Vec<Value>) -> RepairReport {
    let mut report = RepairReport::default();
    match provider {
        Provider::Anthropic => anthropic::repair(history, &mut report),
        Provider::OpenAiResponses => openai_responses::repair(history, &mut report),
        Provider::OpenAiChat => openai_chat::repair(history, &mut report),
    }
    report
}

/// What in a history the provider would refuse, in words; empty where nothing is. Changes nothing.
pub fn check(provider: Provider, history: &[Value]) -> Vec<String> {
    match provider {
        Provider::Anthropic => anthropic::check(history),
        Provider::OpenAiResponses => openai_responses::check(history),
        Provider::OpenAiChat => openai_chat::check(history),
    }
}

/// A history as one JSON array, for the body of a request: a long one is most of it, and written here it is written by code
/// that is built for speed, whatever the rest of the body is made by.
pub fn history_json<'a>(
    messages: impl IntoIterator<Item = &'a Value>,
) -> Result<Box<RawValue>, serde_json::Error> {
    written(&messages.into_iter().collect::<Vec<_>>())
}

fn written(messages: &[&Value]) -> Result<Box<RawValue>, serde_json::Error> {
    to_raw_value(messages)
}

/// What was put right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairReport {
    /// Calls without a result that got one.
    pub answered: usize,
    /// Results and other parts that were left out.
    pub dropped: usize,
    /// Parts that were put somewhere else.
    pub moved: usize,
    /// Parts that were changed in place.
    pub mended: usize,
    /// One sentence for each kind of thing, for the operator.
    pub notes: Vec<String>,
}

impl RepairReport {
    /// True where nothing had to be done.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn answer(&mut self, id: &str) {
        self.answered += 1;
        self.note(format!("call {:?} had no result", crate::json::shorten(id, 80)));
    }

    pub(super) fn drop(&mut self, what: &str) {
        self.dropped += 1;
        self.note(format!("left out {what}"));
    }

    pub(super) fn shift(&mut self, what: &str) {
        self.moved += 1;
        self.note(format!("moved {what}"));
    }

    pub(super) fn mend(&mut self, what: &str) {
        self.mended += 1;
        self.note(format!("changed {what}"));
    }

    // A long history with one habit needs one sentence, not a thousand.
    fn note(&mut self, note: String) {
        if self.notes.len() < 50 && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// What stands in for the result of a call that has none. Nothing in a history says whether it began.
pub(super) fn missing_result() -> String {
    json!({
        "status": "unknown",
        "reason": "There is no result: the call never ran, or was interrupted before its result was kept.",
        "hint": "If it changes something, look whether it did before calling again.",
    })
    .to_string()
}

/// What stands where a tool said nothing.
pub(super) const NO_OUTPUT: &str = "(no output)";

/// What stands where a tool failed and did not say why.
pub(super) const NO_REASON: &str = "(the tool failed and gave no reason)";

/// The string under a key.
pub(super) fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// True for a text a provider refuses as empty.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
