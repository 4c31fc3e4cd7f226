//! Gives every call an id and a name to be answered under, and breaks it where what it came with is neither.

use std::{borrow::Cow, collections::HashSet};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{envelope::text_of, loose::Loose};
use crate::{
    call::{MAX_INPUT_BYTES, Proposed, RawInput},
    json::{MAX_DEPTH, shorten},
};

/// The ids of one turn. A made one is none of those that came before it.
#[derive(Default)]
pub(super) struct CallIds {
    taken: HashSet<String>,
    made: usize,
}

/// Who a call is: where `fault` says something, it will be answered with that and never run.
pub(super) struct Head {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) fault: Option<String>,
}

impl CallIds {
    /// The id and name of a call, as good as they can be had.
    pub(super) fn head(&mut self, id: Loose<'_>, name: Loose<'_>) -> Head {
        let (id, bad_id) = self.id(id);
        let (name, bad_name) = name_of(name);
        Head { id, name, fault: bad_id.or(bad_name) }
    }

    fn id(&mut self, id: Loose<'_>) -> (String, Option<String>) {
        let (id, fault) = match id {
            Loose::Text(text) if !text.is_empty() => (text.into_owned(), None),
            Loose::Scalar(text) => (text, Some("The id of the call is not a string.")),
            Loose::Text(_) => (self.make(), Some("The id of the call is empty.")),
            Loose::Null => (self.make(), Some("The call came without an id.")),
            Loose::Parts(_) | Loose::Other => (self.make(), Some("The id of the call is not a string.")),
        };
        self.taken.insert(id.clone());
        (id, fault.map(str::to_owned))
    }

    /// An id for a call without one.
    pub(super) fn make(&mut self) -> String {
        loop {
            self.made += 1;
            let id = format!("call_missing_{}", self.made);
            if !self.taken.contains(&id) {
                return id;
            }
        }
    }

    pub(super) fn take(&mut self, id: &str) {
        self.taken.insert(id.to_owned());
    }
}

fn name_of(name: Loose<'_>) -> (String, Option<String>) {
    match name {
        // An empty one is a name that no tool has.
        Loose::Text(text) => (text.into_owned(), None),
        Loose::Null => (String::new(), Some("The call names no tool.".to_owned())),
        Loose::Scalar(text) => {
            let fault = format!("The name of the tool is not a string but {}.", shorten(&text, 40));
            (text, Some(fault))
        }
        Loose::Parts(_) | Loose::Other => {
            (String::new(), Some("The name of the tool is not a string.".to_owned()))
        }
    }
}

impl Head {
    /// The call, with these arguments.
    pub(super) fn with(self, input: impl Into<RawInput>) -> Proposed {
        let call = Proposed::new(self.id, self.name, input);
        match self.fault {
            Some(fault) => call.broken(fault),
            None => call,
        }
    }
}

/// Why a key that stands twice breaks its call.
pub(super) fn stands_twice(key: &str) -> String {
    format!("`{key}` stands twice in the call, and readers disagree on which one counts.")
}

/// Arguments that come as a string of JSON, as `OpenAI`'s do.
pub(super) struct Arguments<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) fault: Option<Fault>,
}

/// What is wrong with arguments before anybody reads them as JSON.
pub(super) enum Fault {
    Broken(&'static str),
    Unreadable(&'static str),
}

impl<'a> Arguments<'a> {
    pub(super) fn of(raw: Option<&'a RawValue>) -> Self {
        let Some(raw) = raw else { return Self { text: Cow::Borrowed(""), fault: None } };
        match raw.get().as_bytes().first() {
            Some(b'"') => match text_of(raw) {
                Some(text) => Self { text, fault: None },
                None => Self {
                    text: Cow::Borrowed(raw.get()),
                    fault: Some(Fault::Unreadable(
                        "The arguments hold half a surrogate pair, which is no text.",
                    )),
                },
            },
            // An object in place of the string may be what was meant, or what somebody on the way made of it.
            Some(b'{') => Self {
                text: Cow::Borrowed(raw.get()),
                fault: Some(Fault::Broken("The arguments are an object where a string of JSON belongs.")),
            },
            _ => Self { text: Cow::Borrowed(raw.get()), fault: None },
        }
    }

    pub(super) fn onto(self, head: Head) -> Proposed {
        let call = head.with(&*self.text);
        match self.fault {
            None => call,
            Some(_) if call.fault().is_some() => call,
            Some(Fault::Broken(reason)) => call.broken(reason),
            Some(Fault::Unreadable(reason)) => call.unreadable(reason),
        }
    }
}

/// True where a text is one JSON object, whatever it holds.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Arguments as they may stand in a history: some servers read them, and refuse what is no object, or too deep.
/// What was too large to run is not sent back for every turn to come.
pub(super) fn for_history(text: &str) -> &str {
    let fits = text.len() <= MAX_INPUT_BYTES && depth(text) <= MAX_DEPTH && is_object(text);
    if fits { text } else { "{}" }
}

/// How deep a JSON text nests, strings aside.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
