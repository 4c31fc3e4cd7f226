//! Messages stream events become a turn: blocks begin, grow and end, each under its index.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    block::Block,
    tidy::tidy_assistant,
    turn::{stop_of, usage_of},
};
use crate::wire::{
    ModelTurn, Stop,
    envelope::{Fields, value_of},
    loose::Text,
    stream::{Incoming, TurnEvent},
    track::Track,
    turn::{Draft, shown},
};

/// A turn of Messages events.
#[derive(Default)]
pub(in crate::wire) struct Stream {
    pub(in crate::wire) track: Track,
    blocks: Vec<Block>,
    started: bool,
}

/// The events that carry a turn; anything else is ignored.
const KNOWN: &[&str] = &[
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    citation: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

impl Stream {
    pub(in crate::wire) fn event(&mut self, event: Incoming<'_>, out: &mut Vec<TurnEvent>) {
        let Ok(read) = serde_json::from_str::<Event<'_>>(event.text) else {
            return self.track.unread(event, KNOWN, out);
        };
        if self.track.ended {
            return;
        }
        match read.kind.as_ref().map_or(event.name, |kind| &*kind.0) {
            "content_block_delta" => self.grows(event, &read, out),
            "content_block_start" => self.begins(event, &read, out),
            "content_block_stop" => self.ends(&read, out),
            "message_start" => {
                if std::mem::replace(&mut self.started, true) {
                    return self.track.fail("a second message began inside the turn", out);
                }
                let usage = read.message.and_then(Fields::read).and_then(|message| message.present("usage"));
                self.track.costs(usage.and_then(usage_of), out);
            }
            "message_delta" => {
                self.track.costs(read.usage.and_then(usage_of), out);
                if let Some(word) = read.delta.and_then(|delta| delta.stop_reason) {
                    self.track.stops(stop_of(&word.0), out);
                }
            }
            "message_stop" => self.track.ended = true,
            "error" => self.track.provider_failed(read.error, out),
            _ if read.error.is_some() => self.track.provider_failed(read.error, out),
            other => out.push(TurnEvent::Ignored(shown(other))),
        }
    }

    fn begins(&mut self, event: Incoming<'_>, read: &Event<'_>, out: &mut Vec<TurnEvent>) {
        let start = read.content_block.and_then(|raw| Some((raw, Fields::read(raw)?)));
        let Some((raw, fields)) = start else {
            return self.track.fail("a content block began without saying what it is", out);
        };
        let track = &mut self.track;
        if !track.holds(raw.get().len(), out)
            || !track.begins_part(self.blocks.len(), out)
            || (fields.says("type", "tool_use") && !track.begins_call(out))
        {
            return;
        }
        let index = read.index.unwrap_or(self.blocks.len() as u64);
        let mut block = Block::begin(index, raw, &fields, &mut track.ids);
        block.damaged = event.damaged;
        // What comes for this index belongs to one of them, and nobody can tell to which.
        let twins = self.blocks.iter_mut().filter(|other| read.index == Some(other.index));
        for twin in twins {
            twin.shares_its_index();
            block.shares_its_index();
        }
        track.says(&block.text, out);
        self.blocks.push(block);
    }

    fn grows(&mut self, event: Incoming<'_>, read: &Event<'_>, out: &mut Vec<TurnEvent>) {
        let Some(delta) = &read.delta else { return };
        let Some(block) = find(&mut self.blocks, read.index) else {
            return self.track.fail("a content block grew that had not begun", out);
        };
        let track = &mut self.track;
        block.damaged |= event.damaged;
        if let Some(Text(text)) = &delta.text {
            track.says(text, out);
            block.text.push_str(text);
        }
        if let Some(Text(json)) = &delta.partial_json
            && track.holds(json.len(), out)
        {
            block.grow(json);
        }
        if let Some(Text(thinking)) = &delta.thinking
            && track.holds(thinking.len(), out)
        {
            block.thinking.push_str(thinking);
            out.push(TurnEvent::ThinkingDelta(thinking.clone().into_owned()));
        }
        if let Some(Text(signature)) = &delta.signature
            && track.holds(signature.len(), out)
        {
            block.signature.push_str(signature);
        }
        if let Some(citation) = delta.citation
            && track.holds(citation.get().len(), out)
        {
            block.citations.extend(value_of(citation));
        }
    }

    fn ends(&mut self, read: &Event<'_>, out: &mut Vec<TurnEvent>) {
        let Some(block) = find(&mut self.blocks, read.index) else {
            return self.track.fail("a content block ended that had not begun", out);
        };
        if !std::mem::replace(&mut block.ended, true) {
            out.extend(block.complete().cloned().map(TurnEvent::CallReady));
        }
    }

    pub(in crate::wire) fn finish(self) -> ModelTurn {
        let Self { track, blocks, .. } = self;
        let cut = track.stop.as_ref().is_some_and(Stop::is_cut);
        let mut calls = Vec::new();
        let mut content = Vec::new();
        for mut block in blocks {
            if !block.ended {
                block.complete();
            }
            if !block.ended && !cut {
                block.call = block.call.take().map(|call| call.broken("Its arguments never ended."));
            }
            content.extend(block.value());
            calls.extend(block.call);
        }
        Draft {
            text: track.text,
            calls,
            stop: track.stop,
            usage: track.usage,
            message: json!({"role": "assistant", "content": tidy_assistant(content)}),
            faults: track.faults,
        }
        .finish()
    }
}

/// The latest block of that index, or the latest of all where the event does not say.
fn find(blocks: &mut [Block], index: Option<u64>) -> Option<&mut Block> {
    blocks.iter_mut().rev().find(|block| index.is_none_or(|index| block.index == index))
}
