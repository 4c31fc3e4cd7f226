//! A Messages history is one the API takes: roles in turn, results first in the message after their calls.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::tidy::{clean_assistant, clean_user, is, text_block};
use crate::wire::history::{RepairReport, is_blank, missing_result, word};

/// Puts a history of messages right.
pub(in crate::wire) fn repair(history: &mut Vec<Value>, report: &mut RepairReport) {
    let cleaned =
        std::mem::take(history).into_iter().filter_map(|value| Message::clean(value, report)).collect();
    let answered = answer_calls(merge(cleaned, report), report);
    let mut messages = merge(answered, report);
    if messages.first().is_some_and(|first| first.role == Role::Assistant) {
        report.mend("the start of the history, which was not the user's");
        messages.insert(0, Message::user(vec![text_block("(Earlier messages were left out.)")]));
    }
    history.extend(messages.into_iter().map(Message::into_value));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    /// Not ours to judge; results do not reach across it.
    Other,
}

struct Message {
    role: Role,
    /// The message without its content, which keeps its place by an empty value.
    rest: Map<String, Value>,
    content: Content,
}

enum Content {
    Text(String),
    Blocks(Vec<Value>),
    Other(Value),
}

impl Message {
    /// `None` for what has nothing to say.
    fn clean(value: Value, report: &mut RepairReport) -> Option<Self> {
        let Value::Object(mut rest) = value else {
            report.drop("something that is not a message");
            return None;
        };
        let role = match rest.get("role").and_then(Value::as_str) {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => Role::Other,
        };
        let content = rest.get_mut("content").map_or(Value::Null, Value::take);
        let content = match (role, content) {
            (Role::Other, content) => Content::Other(content),
            (_, Value::String(text)) if !is_blank(&text) => Content::Text(text),
            (Role::User, Value::Array(blocks)) => Content::Blocks(clean_user(blocks, report)),
            (Role::Assistant, Value::Array(blocks)) => Content::Blocks(clean_assistant(blocks, report)),
            _ => Content::Blocks(Vec::new()),
        };
        let message = Self { role, rest, content };
        if message.is_empty() {
            report.drop("a message without content");
            return None;
        }
        Some(message)
    }

    fn user(blocks: Vec<Value>) -> Self {
        let rest = Map::from_iter([("role".to_owned(), json!("user"))]);
        Self { role: Role::User, rest, content: Content::Blocks(blocks) }
    }

    fn is_empty(&self) -> bool {
        matches!(&self.content, Content::Blocks(blocks) if blocks.is_empty())
    }

    /// Takes the content out as blocks; a text is one.
    fn take_blocks(&mut self) -> Vec<Value> {
        match std::mem::replace(&mut self.content, Content::Blocks(Vec::new())) {
            Content::Text(text) => vec![text_block(&text)],
            Content::Blocks(blocks) => blocks,
            Content::Other(_) => Vec::new(),
        }
    }

    fn calls(&self) -> Vec<String> {
        match (&self.content, self.role) {
            (Content::Blocks(blocks), Role::Assistant) => blocks
                .iter()
                .filter(|block| is(block, "tool_use"))
                .map(|block| word(block, "id").to_owned())
                .collect(),
            _ => Vec::new(),
        }
    }

    fn into_value(mut self) -> Value {
        let content = match self.content {
            Content::Text(text) => Value::String(text),
            Content::Blocks(blocks) => Value::Array(blocks),
            Content::Other(Value::Null) if !self.rest.contains_key("content") => {
                return Value::Object(self.rest);
            }
            Content::Other(content) => content,
        };
        self.rest.insert("content".to_owned(), content);
        Value::Object(self.rest)
    }
}

/// Two messages of one role in a row are one: the API reads them so, and its rules are about whole turns.
fn merge(messages: Vec<Message>, report: &mut RepairReport) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len());
    for mut message in messages {
        match merged.last_mut() {
            Some(last) if last.role == message.role && last.role != Role::Other => {
                report.mend("two messages of one role in a row, now one");
                let mut blocks = last.take_blocks();
                blocks.append(&mut message.take_blocks());
                if last.role == Role::Assistant {
                    blocks = clean_assistant(blocks, report);
                }
                last.content = Content::Blocks(blocks);
            }
            _ => merged.push(message),
        }
    }
    merged
}

/// Where the result of a call has been found.
enum Found {
    Nowhere,
    InPlace(Value),
    Late(Value),
}

/// Gives every call its one result, at the head of the next message.
fn answer_calls(mut messages: Vec<Message>, report: &mut RepairReport) -> Vec<Message> {
    let mut results = collect_results(&mut messages, report);
    let mut out: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    let mut due: Option<Vec<Value>> = None;
    for (at, mut message) in messages.into_iter().enumerate() {
        if let Some(mut blocks) = due.take() {
            if message.role == Role::User {
                blocks.append(&mut message.take_blocks());
                message.content = Content::Blocks(blocks);
            } else {
                out.push(Message::user(blocks));
            }
        }
        if let Some(turn) = results.remove(&at) {
            due = Some(turn.into_blocks(report));
        }
        if !message.is_empty() {
            out.push(message);
        }
    }
    out.extend(due.map(Message::user));
    out
}

/// The results of one assistant message.
struct Turn {
    ids: Vec<String>,
    found: Vec<Found>,
    /// The order in which the ones in place stood.
    stood: Vec<usize>,
}

impl Turn {
    fn into_blocks(self, report: &mut RepairReport) -> Vec<Value> {
        let mut blocks: Vec<Option<Value>> = Vec::with_capacity(self.ids.len());
        let complete = self.stood.len() == self.ids.len();
        for (id, found) in self.ids.iter().zip(self.found) {
            blocks.push(Some(match found {
                Found::InPlace(block) => block,
                Found::Late(block) => {
                    report.shift("a result that came late");
                    block
                }
                Found::Nowhere => {
                    report.answer(id);
                    json!({"type": "tool_result", "tool_use_id": id, "content": missing_result(), "is_error": true})
                }
            }));
        }
        // The order is free: what stood right stays as it stood.
        if complete {
            return self.stood.into_iter().filter_map(|at| blocks[at].take()).collect();
        }
        blocks.into_iter().flatten().collect()
    }
}

/// Takes all results out of the user's messages and gives each to the latest call of its id before it.
fn collect_results(messages: &mut [Message], report: &mut RepairReport) -> HashMap<usize, Turn> {
    let mut turns: HashMap<usize, Turn> = HashMap::new();
    let mut latest: HashMap<String, (usize, usize)> = HashMap::new();
    for (at, message) in messages.iter_mut().enumerate() {
        let ids = message.calls();
        if !ids.is_empty() {
            latest.extend(ids.iter().enumerate().map(|(place, id)| (id.clone(), (at, place))));
            let found = ids.iter().map(|_| Found::Nowhere).collect();
            turns.insert(at, Turn { ids, found, stood: Vec::new() });
        }
        let (Role::User, Content::Blocks(blocks)) = (message.role, &mut message.content) else { continue };
        let mut others = false;
        let mut rest = Vec::new();
        for block in std::mem::take(blocks) {
            if !is(&block, "tool_result") {
                others = true;
                rest.push(block);
                continue;
            }
            let call = latest.get(word(&block, "tool_use_id")).copied();
            let Some((turn, place)) =
                call.and_then(|(owner, place)| Some((turns.get_mut(&owner)?, (owner, place))))
            else {
                report.drop("a result without its call");
                continue;
            };
            let (owner, place) = place;
            if !matches!(turn.found[place], Found::Nowhere) {
                report.drop("a second result of one call");
            } else if owner + 1 == at {
                if others {
                    report.shift("a result that stood after other content");
                }
                turn.found[place] = Found::InPlace(block);
                turn.stood.push(place);
            } else {
                turn.found[place] = Found::Late(block);
            }
        }
        *blocks = rest;
    }
    turns
}
