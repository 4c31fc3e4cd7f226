//! What every stream keeps beside its own shape: how it ends, what it cost, how much it may still hold.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    MAX_CALLS, Stop, Usage,
    calls::CallIds,
    envelope::{Fields, describe_error},
    loose::Text,
    stream::{Incoming, TurnEvent},
    turn::shown,
};

/// The most text and arguments of one turn that is kept.
const MAX_HELD_BYTES: usize = 64 << 20;

/// The most blocks or items of one turn that are kept.
const MAX_PARTS: usize = 4 * MAX_CALLS;

/// The part of a stream's state that is the same for every provider.
#[derive(Default)]
pub(super) struct Track {
    pub(super) ids: CallIds,
    pub(super) text: String,
    pub(super) stop: Option<Stop>,
    pub(super) usage: Option<Usage>,
    pub(super) faults: Vec<String>,
    /// The provider's last event came: the turn is whole.
    pub(super) ended: bool,
    /// The stream is over and only its remainder is read.
    pub(super) ending: bool,
    pub(super) events: usize,
    error: Option<Stop>,
    held: usize,
    calls: usize,
}

impl Track {
    /// Nothing more is read: the turn is cut.
    pub(super) fn is_dead(&self) -> bool {
        self.error.is_some()
    }

    /// Cuts the turn, for the first of possibly several reasons.
    pub(super) fn fail(&mut self, reason: impl Into<String>, out: &mut Vec<TurnEvent>) {
        if self.error.is_none() {
            let reason = reason.into();
            out.push(TurnEvent::Error(reason.clone()));
            self.error = Some(Stop::Failed(reason));
        }
    }

    /// Cuts the turn with an error the provider sent.
    pub(super) fn provider_failed(&mut self, error: Option<&RawValue>, out: &mut Vec<TurnEvent>) {
        let Some((kind, message)) = error.map(describe_error) else {
            return self.fail("the provider failed", out);
        };
        if self.error.is_none() {
            out.push(TurnEvent::Error(format!("the provider failed with {kind}: {message}")));
            self.error = Some(Stop::ProviderFailed { kind, message });
        }
    }

    /// An event that could not be read. One that matters may have been part of a call; nobody can tell.
    pub(super) fn unread(&mut self, event: Incoming<'_>, known: &[&str], out: &mut Vec<TurnEvent>) {
        if self.ended || self.ending {
            return;
        }
        let kind = kind_of(event);
        match kind {
            Some(kind) if !known.contains(&&*kind) => out.push(TurnEvent::Ignored(shown(&kind))),
            _ => self.fail(format!("an event of the stream cannot be read: {}", shown(event.text)), out),
        }
    }

    /// Counts what is about to be kept; cuts the turn where it is too much.
    pub(super) fn holds(&mut self, bytes: usize, out: &mut Vec<TurnEvent>) -> bool {
        self.held += bytes;
        if self.held > MAX_HELD_BYTES {
            self.fail(format!("it is longer than the {MAX_HELD_BYTES} bytes that are read"), out);
        }
        !self.is_dead()
    }

    /// Cuts a turn of more parts than anybody writes: each event looks for its own among them.
    pub(super) fn begins_part(&mut self, parts: usize, out: &mut Vec<TurnEvent>) -> bool {
        if parts >= MAX_PARTS {
            self.fail(format!("it has more than the {MAX_PARTS} parts that are accepted"), out);
        }
        !self.is_dead()
    }

    /// Counts a call that has begun; cuts the turn where there are too many.
    pub(super) fn begins_call(&mut self, out: &mut Vec<TurnEvent>) -> bool {
        self.calls += 1;
        if self.calls > MAX_CALLS {
            self.fail(format!("it has more than the {MAX_CALLS} calls that are accepted"), out);
        }
        !self.is_dead()
    }

    /// More of the text.
    pub(super) fn says(&mut self, text: &str, out: &mut Vec<TurnEvent>) {
        if !text.is_empty() && self.holds(text.len(), out) {
            self.text.push_str(text);
            out.push(TurnEvent::TextDelta(text.to_owned()));
        }
    }

    pub(super) fn stops(&mut self, stop: Stop, out: &mut Vec<TurnEvent>) {
        out.push(TurnEvent::Stop(stop.clone()));
        self.stop = Some(stop);
    }

    pub(super) fn costs(&mut self, usage: Option<Usage>, out: &mut Vec<TurnEvent>) {
        if let Some(usage) = usage {
            let total = self.usage.unwrap_or_default().with(usage);
            self.usage = Some(total);
            out.push(TurnEvent::Usage(total));
        }
    }

    /// The stream is over; a turn whose last event never came is cut.
    pub(super) fn at_end(&mut self, stray: Option<&str>) {
        let nothing = self.events == 0;
        let reason = match (&self.error, stray) {
            (Some(error), _) => {
                self.stop = Some(error.clone());
                return;
            }
            (None, _) if self.ended => return,
            (None, Some(stray)) if nothing => format!("no event came; the answer begins with: {stray}"),
            (None, _) if nothing => "the stream was empty".to_owned(),
            (None, _) => "the stream ended before the turn did".to_owned(),
        };
        self.stop = Some(Stop::Failed(reason));
    }
}

fn kind_of(event: Incoming<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
    }
    // Two types are none: the shallow reading sees them, the struct refuses them.
    let kind = serde_json::from_str::<Kind<'_>>(event.text).ok()?;
    Some(kind.kind.0.into_owned())
}

/// A count under a key, where it is one.
pub(super) fn count(fields: &Fields<'_>, key: &str) -> u64 {
    fields.get(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(0)
}

/// A count one object further down.
pub(super) fn count_in(fields: &Fields<'_>, object: &str, key: &str) -> u64 {
    fields.get(object).and_then(Fields::read).map_or(0, |inner| count(&inner, key))
}
