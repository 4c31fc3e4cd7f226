//! One output item of a stream: added, grown, done, and told once more by the last event.

use serde_json::{Value, value::RawValue};

use super::turn::{call_item, call_of, is_call, whole};
use crate::{
    call::Proposed,
    wire::{
        body::NOT_UTF8,
        calls::CallIds,
        envelope::{Fields, value_of},
    },
};

/// An output item, as far as it has come.
pub(super) struct Item {
    pub(super) index: Option<u64>,
    id: String,
    raw: Box<RawValue>,
    pub(super) call: Option<Proposed>,
    /// Arguments as their deltas made them.
    pub(super) grown: String,
    /// Arguments as `function_call_arguments.done` gave them.
    pub(super) whole: Option<String>,
    pub(super) stage: Stage,
    /// Bytes of it were not UTF-8.
    pub(super) damaged: bool,
}

/// How far an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Added,
    Done,
}

impl Item {
    pub(super) fn new(
        index: Option<u64>,
        raw: &RawValue,
        fields: &Fields<'_>,
        stage: Stage,
        ids: &mut CallIds,
    ) -> Self {
        let mut call = is_call(fields).then(|| call_of(fields, ids));
        if stage == Stage::Done {
            call = call.map(|call| whole(call, fields));
        }
        Self {
            index,
            id: fields.text("id").unwrap_or_default().into_owned(),
            raw: raw.to_owned(),
            call,
            grown: String::new(),
            whole: None,
            stage,
            damaged: false,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// True where an event with this index and item id speaks of it.
    pub(super) fn matches(&self, index: Option<u64>, id: &str) -> bool {
        match (self.index, index) {
            (Some(own), Some(other)) => own == other,
            _ => id.is_empty() || self.id == id,
        }
    }

    /// True where an item of the last event, at that place, is this one.
    pub(super) fn is(&self, index: u64, fields: &Fields<'_>) -> bool {
        let text = |key| fields.text(key).filter(|text| !text.is_empty());
        match self.index {
            Some(own) => own == index,
            None => {
                text("id").is_some_and(|id| id == self.id)
                    || text("call_id")
                        .zip(self.call.as_ref())
                        .is_some_and(|(id, call)| id == call.id.as_str())
            }
        }
    }

    /// Breaks the call where the last event tells it otherwise.
    pub(super) fn confirm(&mut self, other: &Fields<'_>) {
        let own = Fields::read(&self.raw);
        let same = |key| own.as_ref().and_then(|own| own.text(key)) == other.text(key);
        if !["call_id", "name", "arguments", "input"].into_iter().all(same) {
            self.call =
                self.call.take().map(|call| call.broken("The last event of the stream tells it otherwise."));
        }
    }

    /// Takes over what came before it was done.
    pub(super) fn follow(&mut self, old: &mut Self) {
        self.grown = std::mem::take(&mut old.grown);
        self.whole = old.whole.take();
        self.damaged |= old.damaged;
        self.index = self.index.or(old.index);
        let Some(was) = old.call.take() else { return };
        let call = self.call.take();
        self.call = Some(match call {
            Some(call) if call.id == was.id && call.name == was.name => call,
            other => other.unwrap_or(was).broken("The call began as another than it ended as."),
        });
    }

    /// Gives the call its arguments, and breaks it where they were told in two ways.
    pub(super) fn settle(&mut self) -> Option<&Proposed> {
        let mut call = self.call.take()?;
        let told = [Some(std::mem::take(&mut self.grown)), self.whole.take()].into_iter().flatten();
        for told in told.filter(|told| !told.is_empty()) {
            if call.input.as_str().is_empty() {
                call.input = told.into();
            } else if call.input.as_str() != told {
                call = call.broken("The arguments of the call were told in two different ways.");
            }
        }
        if self.damaged {
            call = call.unreadable(NOT_UTF8);
        }
        Some(self.call.insert(call))
    }

    /// The item as it stands in the history. What was begun of a text or a thought and not finished is refused
    /// there.
    pub(super) fn value(&self) -> Option<Value> {
        match &self.call {
            Some(call) => Some(call_item(&self.raw, call)),
            None if self.is_done() => value_of(&self.raw),
            None => None,
        }
    }
}
