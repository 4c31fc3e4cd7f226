//! Chat completion chunks become a turn: text and pieces of calls, until a chunk says why it finished.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    repair::tidy_assistant,
    slots::{Piece, Slot},
    turn::{call_entry, stop_of, usage_of},
};
use crate::wire::{
    ModelTurn, Stop,
    loose::{Loose, Text},
    stream::{Incoming, TurnEvent},
    track::Track,
    turn::{Draft, shown},
};

/// A turn of chat completion chunks.
#[derive(Default)]
pub(in crate::wire) struct Stream {
    pub(in crate::wire) track: Track,
    slots: Vec<Slot>,
    content: String,
    refusal: String,
    /// What the model thought, under the name the server has for it.
    reasoning: String,
    reasoning_content: String,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Option<Loose<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    /// What stands in a whole answer where a chunk has a delta.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Loose<'a>>,
    #[serde(borrow)]
    refusal: Option<Loose<'a>>,
    #[serde(borrow)]
    reasoning: Option<Loose<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Loose<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Piece<'a>>>,
}

impl Stream {
    pub(in crate::wire) fn event(&mut self, event: Incoming<'_>, out: &mut Vec<TurnEvent>) {
        if event.text == "[DONE]" {
            return;
        }
        let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(event.text) else {
            return self.track.unread(event, &[], out);
        };
        if chunk.error.is_some() || event.name == "error" {
            return self.track.provider_failed(chunk.error, out);
        }
        self.track.costs(chunk.usage.and_then(usage_of), out);
        match chunk.choices {
            // Other choices are alternatives nobody asked for.
            Some(choices) => {
                for choice in choices.into_iter().filter(|choice| choice.index.is_none_or(|index| index == 0))
                {
                    self.choice(event, choice, out);
                }
            }
            None if chunk.usage.is_none() => {
                let kind = chunk.kind.and_then(Loose::into_text);
                out.push(TurnEvent::Ignored(kind.map_or_else(String::new, |kind| shown(&kind))));
            }
            None => {}
        }
    }

    fn choice(&mut self, event: Incoming<'_>, choice: Choice<'_>, out: &mut Vec<TurnEvent>) {
        match (choice.delta, choice.message) {
            (Some(delta), _) => self.delta(event, delta, out),
            (None, Some(_)) => {
                return self.track.fail("a whole answer came where a stream was expected", out);
            }
            (None, None) => {}
        }
        let finish = choice.finish_reason.and_then(|Text(word)| stop_of(&word));
        // Some servers say it again in the chunk with the usage.
        if let Some(stop) = finish.filter(|_| !self.track.ended && !self.track.is_dead()) {
            self.track.ended = true;
            if !stop.is_cut() {
                for slot in &mut self.slots {
                    out.extend(slot.tell(&mut self.track.ids).map(TurnEvent::CallReady));
                }
            }
            self.track.stops(stop, out);
        }
    }

    fn delta(&mut self, event: Incoming<'_>, delta: Delta<'_>, out: &mut Vec<TurnEvent>) {
        if let Some(text) = delta.content.and_then(Loose::into_text).filter(|_| !self.track.ended) {
            self.track.says(&text, out);
            self.content.push_str(&text);
        }
        if let Some(text) = delta.refusal.and_then(Loose::into_text).filter(|_| !self.track.ended) {
            self.track.says(&text, out);
            self.refusal.push_str(&text);
        }
        let thoughts =
            [(delta.reasoning, &mut self.reasoning), (delta.reasoning_content, &mut self.reasoning_content)];
        for (thought, kept) in thoughts {
            if let Some(text) = thought.and_then(Loose::into_text).filter(|text| !text.is_empty())
                && self.track.holds(text.len(), out)
            {
                kept.push_str(&text);
                out.push(TurnEvent::ThinkingDelta(text.into_owned()));
            }
        }
        for piece in delta.tool_calls.unwrap_or_default() {
            self.piece(event, piece, out);
        }
    }

    fn piece(&mut self, event: Incoming<'_>, piece: Piece<'_>, out: &mut Vec<TurnEvent>) {
        if self.track.ended {
            if !piece.says_nothing() {
                self.track.fail("a call went on after the turn had finished", out);
            }
            return;
        }
        if !self.track.holds(piece.arguments().len(), out) {
            return;
        }
        let at = match piece.slot(&self.slots) {
            Some(at) => at,
            None => {
                if !self.track.begins_call(out) {
                    return;
                }
                // Where the next call begins, the one before is whole, if it is an object.
                if let Some(last) = self.slots.last_mut() {
                    out.extend(last.tell_if_whole(&mut self.track.ids).map(TurnEvent::CallReady));
                }
                self.slots.push(Slot::new(&piece));
                self.slots.len() - 1
            }
        };
        self.slots[at].add(event, piece);
    }

    pub(in crate::wire) fn finish(self) -> ModelTurn {
        let Self { mut track, slots, content, refusal, reasoning, reasoning_content } = self;
        let mut calls = Vec::with_capacity(slots.len());
        let mut entries = Vec::with_capacity(slots.len());
        for mut slot in slots {
            let call = slot.call(&mut track.ids);
            entries.push(call_entry(&call, slot.extra()));
            calls.push(call);
        }
        let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
        let texts = [
            ("content", content),
            ("refusal", refusal.clone()),
            ("reasoning", reasoning),
            ("reasoning_content", reasoning_content),
        ];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            message.insert(key.to_owned(), Value::String(text));
        }
        if !entries.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(entries));
        }
        let declined = !refusal.is_empty() && calls.is_empty() && track.stop == Some(Stop::EndTurn);
        Draft {
            text: track.text,
            calls,
            stop: if declined { Some(Stop::Refusal) } else { track.stop },
            usage: track.usage,
            message: tidy_assistant(message),
            faults: track.faults,
        }
        .finish()
    }
}
