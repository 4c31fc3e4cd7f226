//! A conversation is projected once, entry by entry: a turn more costs what the turn is long, not the conversation.

use std::sync::Arc;

use serde_json::Value;
use tollgate::{
    tool::CallId,
    wire::{self, Provider, RepairReport},
};

use super::{Entry, History, ids::Ids, render};

/// The messages of one provider that a history stands for, kept between turns.
///
/// What was projected stays as it is, to the byte, for the provider's prompt cache; what comes is added at the end.
#[derive(Debug)]
pub struct Projection {
    provider: Provider,
    model: Arc<str>,
    messages: Arc<Vec<Value>>,
    /// How many entries of the history are in it.
    done: usize,
    /// How often the history was changed in its past when it was projected.
    edition: u64,
    ids: Ids,
    /// The ids of the last turn that stand changed.
    renamed: Vec<(CallId, String)>,
    /// The items of the last turn, where the kind of its calls matters to their answers.
    items: Value,
    /// Where the last turn of the model begins: what comes after it may still be wrong.
    last_turn: usize,
}

impl Projection {
    /// An empty one for this model of this provider.
    pub fn new(provider: Provider, model: impl Into<Arc<str>>) -> Self {
        Self {
            provider,
            model: model.into(),
            messages: Arc::default(),
            done: 0,
            edition: 0,
            ids: Ids::default(),
            renamed: Vec::new(),
            items: Value::Null,
            last_turn: 0,
        }
    }

    /// The messages as they were last made.
    pub fn messages(&self) -> &Arc<Vec<Value>> {
        &self.messages
    }

    /// Adds what is new in the history and puts right whatever the provider would refuse. `edition` tells a history
    /// whose past was changed (by compaction) from one that only grew.
    pub fn update(&mut self, history: &History, edition: u64) -> RepairReport {
        if edition != self.edition || self.done > history.len() {
            *self = Self { edition, ..Self::new(self.provider, self.model.clone()) };
        }
        if self.done == history.len() {
            return RepairReport::default();
        }
        let checked_from = self.last_turn;
        for entry in &history.entries()[self.done..] {
            self.add(entry);
        }
        self.done = history.len();
        self.put_right(checked_from)
    }

    fn add(&mut self, entry: &Entry) {
        let provider = self.provider;
        match entry {
            Entry::Person { parts } => self.append(render::person(provider, parts)),
            Entry::Context { text, from } => self.append(render::context(provider, text, from)),
            Entry::Model(turn) => {
                let own = turn.provider == provider && turn.model == self.model;
                let rendered = if own {
                    render::own(provider, turn, &mut self.ids)
                } else {
                    render::foreign(provider, turn, &mut self.ids)
                };
                self.renamed = rendered.renamed;
                if provider == Provider::OpenAiResponses {
                    self.items = Value::Array(rendered.messages.clone());
                }
                self.last_turn = self.messages.len();
                rendered.messages.into_iter().for_each(|message| self.append(message));
                self.last_turn = self.last_turn.min(self.messages.len().saturating_sub(1));
            }
            Entry::Results { answers } => {
                for message in render::results(provider, &self.items, &self.renamed, answers) {
                    self.append(message);
                }
            }
        }
    }

    /// Messages of one role in a row are one for Anthropic; an empty one is none.
    fn append(&mut self, message: Value) {
        let messages = Arc::make_mut(&mut self.messages);
        if self.provider != Provider::Anthropic {
            if message["content"].as_array().is_none_or(|content| !content.is_empty()) {
                messages.push(message);
            }
            return;
        }
        let Value::Object(mut fields) = message else { return };
        let blocks = match fields.remove("content") {
            Some(Value::Array(blocks)) => blocks,
            Some(Value::String(text)) => vec![serde_json::json!({"type": "text", "text": text})],
            _ => Vec::new(),
        };
        if blocks.is_empty() {
            return;
        }
        if let Some(last) = messages.last_mut()
            && last["role"] == fields["role"]
            && let Some(content) = last["content"].as_array_mut()
        {
            content.extend(blocks);
            return;
        }
        fields.insert("content".to_owned(), Value::Array(blocks));
        messages.push(Value::Object(fields));
    }

    /// The last look before anything leaves: the new end is checked, and where it is wrong the whole is repaired.
    fn put_right(&mut self, from: usize) -> RepairReport {
        let from = from.min(self.messages.len());
        let tail = &self.messages[from..];
        // A part of a history may begin with the model's turn; the whole may not, and does not.
        let begins = from > 0 && tail.first().is_some_and(|first| first["role"] == "assistant");
        let faults = wire::check(self.provider, tail);
        if faults.len() <= usize::from(begins && self.provider == Provider::Anthropic) {
            return RepairReport::default();
        }
        let report = wire::repair(self.provider, Arc::make_mut(&mut self.messages));
        // Where the last turn begins now is not known; next time everything is looked at.
        self.last_turn = 0;
        report
    }
}
