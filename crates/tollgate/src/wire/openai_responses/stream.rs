//! Responses stream events become a turn: items are added, grow and are done, each at its place in the output.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    item::{Item, Stage},
    repair::tidy_items,
    turn::{is_call, message_text, stop_of, usage_of},
};
use crate::wire::{
    ModelTurn, Stop,
    envelope::{Fields, items_of},
    loose::{Loose, Text},
    stream::{Incoming, TurnEvent},
    track::Track,
    turn::{Draft, shown},
};

/// A turn of Responses events.
#[derive(Default)]
pub(in crate::wire) struct Stream {
    pub(in crate::wire) track: Track,
    items: Vec<Item>,
    /// The items whose text came in deltas.
    spoken: Vec<Option<u64>>,
    refusal: bool,
}

/// The events that carry a turn; anything else is ignored.
const KNOWN: &[&str] = &[
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.refusal.delta",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "error",
];

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    delta: Option<Loose<'a>>,
    #[serde(borrow)]
    arguments: Option<Loose<'a>>,
    output_index: Option<u64>,
    #[serde(borrow)]
    item_id: Option<Text<'a>>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Stream {
    pub(in crate::wire) fn event(&mut self, event: Incoming<'_>, out: &mut Vec<TurnEvent>) {
        let Ok(read) = serde_json::from_str::<Event<'_>>(event.text) else {
            return self.track.unread(event, KNOWN, out);
        };
        if self.track.ended {
            return;
        }
        let kind = read.kind.as_ref().map_or(event.name, |kind| &*kind.0);
        match kind {
            "response.function_call_arguments.delta" => self.grows(event, &read, out),
            "response.output_text.delta" => self.says(read, out),
            "response.refusal.delta" => {
                self.refusal = true;
                self.says(read, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let thought = read.delta.and_then(Loose::into_text);
                out.extend(thought.map(|text| TurnEvent::ThinkingDelta(text.into_owned())));
            }
            "response.function_call_arguments.done" => self.arguments_done(event, read, out),
            "response.output_item.added" => self.item(event, &read, Stage::Added, out),
            "response.output_item.done" => self.item(event, &read, Stage::Done, out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.ends(event, kind, read.response, out);
            }
            "error" => {
                let whole: Option<&RawValue> = serde_json::from_str(event.text).ok();
                self.track.provider_failed(read.error.or(whole), out);
            }
            _ if read.error.is_some() => self.track.provider_failed(read.error, out),
            // Long streams say much that the last event says again.
            other if other.starts_with("response.") => {}
            other => out.push(TurnEvent::Ignored(shown(other))),
        }
    }

    fn says(&mut self, read: Event<'_>, out: &mut Vec<TurnEvent>) {
        if let Some(text) = read.delta.and_then(Loose::into_text) {
            if self.spoken.last() != Some(&read.output_index)
                && self.track.begins_part(self.spoken.len(), out)
            {
                self.spoken.push(read.output_index);
            }
            self.track.says(&text, out);
        }
    }

    fn grows(&mut self, event: Incoming<'_>, read: &Event<'_>, out: &mut Vec<TurnEvent>) {
        let Some(Loose::Text(delta)) = &read.delta else {
            return self.track.fail("arguments grew by something that is not text", out);
        };
        let Some(item) = find(&mut self.items, read) else {
            return self.track.fail("arguments grew of a call that had not begun", out);
        };
        if self.track.holds(delta.len(), out) {
            item.damaged |= event.damaged;
            item.grown.push_str(delta);
        }
    }

    fn arguments_done(&mut self, event: Incoming<'_>, read: Event<'_>, out: &mut Vec<TurnEvent>) {
        let Some(item) = find(&mut self.items, &read) else {
            return self.track.fail("arguments ended of a call that had not begun", out);
        };
        item.damaged |= event.damaged;
        if let Some(Loose::Text(whole)) = read.arguments
            && self.track.holds(whole.len(), out)
        {
            item.whole = Some(whole.into_owned());
        }
    }

    fn item(&mut self, event: Incoming<'_>, read: &Event<'_>, stage: Stage, out: &mut Vec<TurnEvent>) {
        match read.item {
            Some(raw) => self.place(event, raw, read.output_index, stage, out),
            None => self.track.fail("an output item came without itself", out),
        }
    }

    /// Puts an item where it belongs; a done one takes the place of what was added under its index.
    fn place(
        &mut self,
        event: Incoming<'_>,
        raw: &RawValue,
        index: Option<u64>,
        stage: Stage,
        out: &mut Vec<TurnEvent>,
    ) {
        let Some(fields) = Fields::read(raw) else {
            return self.track.fail("an output item is not an object", out);
        };
        let id = fields.text("id").unwrap_or_default();
        let is_begun = |item: &Item| stage == Stage::Done && !item.is_done() && item.matches(index, &id);
        let old = self.items.iter().rposition(is_begun);
        let track = &mut self.track;
        let is_call = is_call(&fields);
        if !track.holds(raw.get().len(), out)
            || (old.is_none() && !track.begins_part(self.items.len(), out))
            || (old.is_none() && is_call && !track.begins_call(out))
        {
            return;
        }
        let mut item = Item::new(index, raw, &fields, stage, &mut track.ids);
        item.damaged = event.damaged;
        if let Some(old) = old.map(|at| &mut self.items[at]) {
            item.follow(old);
        }
        if item.is_done() {
            out.extend(item.settle().cloned().map(TurnEvent::CallReady));
            self.hears(&fields, index, out);
        }
        match old {
            Some(at) => self.items[at] = item,
            None => self.items.push(item),
        }
    }

    /// The deltas of a message are its text already; only a message without any is read from the item.
    fn hears(&mut self, fields: &Fields<'_>, index: Option<u64>, out: &mut Vec<TurnEvent>) {
        if fields.says("type", "message") {
            let (text, refusal) = message_text(fields);
            self.refusal |= refusal;
            if !self.spoken.contains(&index) {
                self.track.says(&text, out);
            }
        }
    }

    fn ends(
        &mut self,
        event: Incoming<'_>,
        kind: &str,
        response: Option<&RawValue>,
        out: &mut Vec<TurnEvent>,
    ) {
        let response = response.and_then(Fields::read);
        let of = |key| response.as_ref().and_then(|response| response.present(key));
        self.track.costs(of("usage").and_then(usage_of), out);
        if let Some(output) = of("output").and_then(items_of) {
            self.compare(event, &output, out);
        }
        match (kind, response.as_ref().and_then(stop_of)) {
            ("response.completed", None) => self.completes(out),
            ("response.failed", _) => {
                self.track.provider_failed(of("error"), out);
            }
            ("response.incomplete", stop) => self.track.stops(stop.unwrap_or(Stop::MaxTokens), out),
            (_, Some(stop)) => self.track.stops(stop, out),
            (_, None) => self.track.fail("the response was cancelled", out),
        }
        self.track.ended = true;
    }

    fn completes(&mut self, out: &mut Vec<TurnEvent>) {
        for item in self.items.iter_mut().filter(|item| !item.is_done() && item.whole.is_some()) {
            item.stage = Stage::Done;
            out.extend(item.settle().cloned().map(TurnEvent::CallReady));
        }
        let calls = self.items.iter().any(|item| item.call.is_some());
        let stop = match (calls, self.refusal) {
            (true, _) => Stop::ToolUse,
            (false, true) => Stop::Refusal,
            (false, false) => Stop::EndTurn,
        };
        self.track.stops(stop, out);
    }

    /// The last event repeats the output. A call only it knows is taken from it; one it tells otherwise is broken.
    fn compare(&mut self, event: Incoming<'_>, output: &[&RawValue], out: &mut Vec<TurnEvent>) {
        let nothing_yet = self.items.is_empty();
        for (index, raw) in (0..).zip(output) {
            let Some(fields) = Fields::read(raw) else { continue };
            let is_call = is_call(&fields);
            match self.items.iter_mut().find(|item| item.is_done() && item.is(index, &fields)) {
                Some(known) if is_call || known.call.is_some() => known.confirm(&fields),
                None if is_call || nothing_yet => self.place(event, raw, Some(index), Stage::Done, out),
                _ => {}
            }
        }
    }

    pub(in crate::wire) fn finish(self) -> ModelTurn {
        let Self { track, mut items, .. } = self;
        items.sort_by_key(|item| item.index.unwrap_or(u64::MAX));
        let mut calls = Vec::new();
        let mut output = Vec::new();
        for mut item in items {
            if !item.is_done() {
                item.settle();
                item.call = item.call.take().map(|call| call.broken("Its arguments never ended."));
            }
            output.extend(item.value());
            calls.extend(item.call);
        }
        Draft {
            text: track.text,
            calls,
            stop: track.stop,
            usage: track.usage,
            message: Value::Array(tidy_items(output)),
            faults: track.faults,
        }
        .finish()
    }
}

/// The latest call that is not done and that an event speaks of.
fn find<'a>(items: &'a mut [Item], read: &Event<'_>) -> Option<&'a mut Item> {
    let id = read.item_id.as_ref().map_or("", |id| &*id.0);
    items
        .iter_mut()
        .rev()
        .find(|item| !item.is_done() && item.call.is_some() && item.matches(read.output_index, id))
}
