//! A conversation in no provider's form: what was said, what was proposed, what came of it.
//!
//! [`Projection`] turns it into the messages of one provider. A turn of the provider that is asked again keeps its own
//! items to the byte (signed thoughts, reasoning); for any other it is written anew from what it said and called.

mod kept;
mod project;
mod render;
mod ids;
mod compact;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate::{
    Proposed, Refusal,
    outcome::RefusalCode,
    tool::CallId,
    wire::{ModelTurn, Provider},
};

pub(crate) use compact::shown_length;
pub use compact::{Aside, Room};
pub use kept::Kept;
pub use project::Projection;

/// The conversation so far, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct History {
    entries: Vec<Entry>,
}

/// One thing in a conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// What the person said.
    Person {
        /// Text and pictures, in order.
        parts: Vec<Part>,
    },
    /// What the program tells the model beside the conversation: instruction files, warnings, notes.
    Context {
        /// The words.
        text: String,
        /// Where they come from, in a word or a file name.
        from: String,
    },
    /// What the model answered.
    Model(Box<Turn>),
    /// The answers to the calls of the turn before, one for each, in call order.
    Results {
        /// The answers.
        answers: Vec<Kept>,
    },
}

/// A part of what a person says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// As `image/png`.
        mime: String,
        /// The bytes in base64.
        data: Arc<str>,
    },
}

/// A model's turn as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turn {
    /// Which turn of the run it is, from 1.
    pub turn: u32,
    /// Whose format `message` is in.
    pub provider: Provider,
    /// The model that said it.
    pub model: Arc<str>,
    /// Its text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its calls, one for each id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallEntry>,
    /// The provider's own items.
    pub message: Value,
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEntry {
    /// Its id.
    pub id: CallId,
    /// Its place in the turn.
    pub position: usize,
    /// The tool's own name; the name as written where no tool is meant.
    pub name: String,
    /// The name as the model wrote it, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
    /// The arguments as text, without the purpose.
    pub input: String,
    /// Why the model says it calls this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Arc<str>>,
    /// Why it will be refused whatever it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// Why a call cannot run, as its turn shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// Its turn is cut or malformed.
    Broken {
        /// In words.
        reason: String,
    },
    /// Its arguments are no text.
    Unreadable {
        /// In words.
        reason: String,
    },
}

impl History {
    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True where nothing was said.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The last text of the model: the answer, once it is done.
    pub fn last_text(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Model(turn) if !turn.text.trim().is_empty() => Some(turn.text.as_str()),
            _ => None,
        })
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    pub(crate) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }
}

impl Part {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A picture, its bytes in base64.
    pub fn image(mime: impl Into<String>, base64: impl Into<Arc<str>>) -> Self {
        Self::Image { mime: mime.into(), data: base64.into() }
    }
}

impl Turn {
    /// The turn as it is kept; `calls` are its calls under the tools' own names.
    pub fn of(turn: &ModelTurn, number: u32, from: (Provider, &str), calls: &[Proposed]) -> Self {
        let written = |position: usize, call: &Proposed| {
            let wire = turn.calls.get(position).map(|wire| wire.name.to_string());
            wire.filter(|wire| **wire != *call.name)
        };
        let mut entries: Vec<CallEntry> = Vec::with_capacity(calls.len());
        for (position, call) in calls.iter().enumerate() {
            // Calls that share an id are answered once.
            if let Some(twin) = entries.iter_mut().find(|entry| entry.id == call.id) {
                let reason =
                    format!("More than one call of this turn has the id {:?}; none of them ran.", call.id);
                twin.fault = Some(Fault::Broken { reason });
                continue;
            }
            let wire = written(position, call);
            entries.push(CallEntry { wire, ..CallEntry::of(call, position) });
        }
        Self {
            turn: number,
            provider: from.0,
            model: from.1.into(),
            text: turn.text.clone(),
            calls: entries,
            message: turn.message.clone(),
        }
    }
}

impl CallEntry {
    fn of(call: &Proposed, position: usize) -> Self {
        Self {
            id: call.id.clone(),
            position,
            name: call.name.to_string(),
            wire: None,
            input: call.input.as_str().to_owned(),
            purpose: call.purpose.clone(),
            fault: call.fault().map(Fault::of),
        }
    }

    /// The call under the name the model wrote, to be put on the path.
    pub fn propose(&self) -> Proposed {
        let name = self.wire.as_ref().unwrap_or(&self.name);
        let mut call = Proposed::new(self.id.as_str(), name.clone(), self.input.clone());
        call.purpose.clone_from(&self.purpose);
        match &self.fault {
            None => call,
            Some(Fault::Broken { reason }) => call.broken(reason.clone()),
            Some(Fault::Unreadable { reason }) => call.unreadable(reason.clone()),
        }
    }
}

impl Fault {
    fn of(refusal: &Refusal) -> Self {
        let reason = refusal.reason.clone();
        match refusal.code {
            RefusalCode::InvalidJson => Self::Unreadable { reason },
            _ => Self::Broken { reason },
        }
    }
}
