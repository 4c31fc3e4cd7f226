//! Names that were checked once: of tools, of where they come from, of calls, runs and callers.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The longest tool name that is accepted; every provider's limit is at or below it.
pub const MAX_NAME: usize = 128;

/// A tool's own name: 1 to 128 of `A-Z a-z 0-9 _ - . /`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

/// Why a text is not a tool name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Nothing there.
    #[error("a tool name cannot be empty")]
    Empty,
    /// Longer than [`MAX_NAME`].
    #[error("a tool name has at most {MAX_NAME} characters, this one has {0}")]
    TooLong(usize),
    /// A character outside the allowed set.
    #[error("a tool name is made of A-Z a-z 0-9 _ - . /, not {0:?}")]
    Character(char),
}

impl ToolName {
    /// Checks and keeps a name.
    pub fn new(name: &str) -> Result<Self, BadName> {
        if name.is_empty() {
            return Err(BadName::Empty);
        }
        if let Some(odd) = name.chars().find(|c| !(c.is_ascii_alphanumeric() || "_-./".contains(*c))) {
            return Err(BadName::Character(odd));
        }
        if name.len() > MAX_NAME {
            return Err(BadName::TooLong(name.len()));
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> &Arc<str> {
        &self.0
    }
}

/// Where a tool comes from. Only built-ins may claim aliases.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Origin {
    /// Compiled into the program that embeds Tollgate.
    #[default]
    Builtin,
    /// Bridged from the named server.
    Server(Arc<str>),
}

/// The inner identity of a tool: the pair of origin and name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolId {
    /// Where it comes from.
    pub origin: Origin,
    /// What it is called there.
    pub name: ToolName,
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Builtin => f.write_str(self.name.as_str()),
            Origin::Server(server) => write!(f, "@{server}/{}", self.name),
        }
    }
}

impl fmt::Debug for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for ToolName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Makes a newtype over text: never a bare `String` in a signature.
macro_rules! text_id {
    // Its call's own: it goes with it from hand to hand.
    ($(#[$doc:meta])* $name:ident(Box)) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Keeps the text as it is.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(text.as_ref().into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_id!(@text $name);
    };
    // Many calls have the same one, and share it.
    ($(#[$doc:meta])* $name:ident(Arc)) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Option<Arc<str>>);

        impl $name {
            /// Keeps the text as it is.
            pub fn new(text: impl AsRef<str>) -> Self {
                let text = text.as_ref();
                Self((!text.is_empty()).then(|| text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                self.0.as_deref().unwrap_or_default()
            }
        }

        text_id!(@text $name);
    };
    (@text $name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::new)
            }
        }
    };
}

text_id!(
    /// A call's own id, as the provider gave it, or as made for a call that came without.
    CallId(Box)
);
text_id!(
    /// A tool's name as a model wrote it: any text, of which nothing is believed yet.
    WrittenName(Box)
);
text_id!(
    /// One run of an agent: what budgets, repetition and cancellation are counted by.
    RunId(Arc)
);
text_id!(
    /// Who proposed the call: an agent, a sub-agent, a gateway client.
    Caller(Arc)
);
text_id!(
    /// A named task or phase that exposes a set of tools.
    Route(Arc)
);
text_id!(
    /// A key under which a call takes effect at most once.
    IdempotencyKey(Arc)
);

impl std::ops::Deref for WrittenName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for WrittenName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for WrittenName {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl RunId {
    /// True for the very same id, not for one that only reads the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl IdempotencyKey {
    /// The key of a call that brings none. Providers repeat ids, so run, turn and position are part of it; whoever
    /// takes up a turn that was broken off finds what its calls did by it.
    pub fn of_call(run: &RunId, turn: u32, position: usize, call: &CallId) -> Self {
        Self::new(format!("{run}/{turn}/{position}/{call}"))
    }
}
