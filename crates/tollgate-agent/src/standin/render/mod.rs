//! A turn in the words of an API: as one body, or as the events of a stream.

mod anthropic;
mod responses;
mod chat;

use serde_json::{Value, json};

use super::{Delivery, Turn};
use crate::provider::Api;

/// An event of a stream: the name of its `event:` line, empty for none, and its data.
type Event = (&'static str, Value);

/// The body of a whole answer.
pub(super) fn whole(api: Api, turn: &Turn) -> Value {
    match api {
        Api::Anthropic => anthropic::whole(turn),
        Api::OpenAi => responses::whole(turn),
        Api::Chat => chat::whole(turn),
    }
}

/// The text of a stream.
pub(super) fn stream(api: Api, turn: &Turn, delivery: &Delivery) -> String {
    let mut events = match api {
        Api::Anthropic => anthropic::events(turn),
        Api::OpenAi => responses::events(turn),
        Api::Chat => chat::events(turn),
    };
    if delivery.noisy {
        make_noise(api, &mut events);
    }
    let end = if delivery.crlf { "\r\n" } else { "\n" };
    let mut lines = Vec::new();
    for (at, (name, data)) in events.into_iter().enumerate() {
        if delivery.noisy && at % 3 == 0 {
            lines.extend([": keep-alive".to_owned(), String::new()]);
        }
        if !name.is_empty() {
            lines.push(format!("event: {name}"));
        }
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        lines.extend([format!("data: {data}"), String::new()]);
    }
    lines.into_iter().flat_map(|line| [line, end.to_owned()]).collect()
}

/// Puts events in between that no client has heard of.
fn make_noise(api: Api, events: &mut Vec<Event>) {
    let noise: Event = match api {
        Api::Anthropic => ("ping", json!({"type": "ping"})),
        Api::OpenAi => ("response.moon.phase", json!({"type": "response.moon.phase", "phase": "full"})),
        Api::Chat => ("", json!({"object": "moon", "type": "moon.phase"})),
    };
    // The last event of a stream stays the last.
    let inside = events.len().saturating_sub(1);
    for at in (1..inside).rev() {
        events.insert(at, noise.clone());
    }
    if api == Api::Anthropic && events.len() > 2 {
        events.insert(2, ("moon_phase", json!({"type": "moon_phase", "phase": {"of": "moon"}})));
    }
}

/// A text in pieces, as models write.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(7).map(|piece| piece.iter().collect()).collect()
}
