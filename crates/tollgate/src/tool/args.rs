//! Arguments that a tool accepted: their text, and the value it stands for, made when somebody first looks at it.

use std::{fmt, ops::Deref, sync::OnceLock};

use serde_json::Value;

use crate::{call::RawInput, json::parse_strict};

/// Accepted arguments. Derefs to their value; most quick calls never need one.
pub(crate) struct Args {
    text: RawInput,
    value: OnceLock<Value>,
}

impl Args {
    /// What was accepted as a text, and so is strict JSON.
    pub(crate) fn unread(text: RawInput) -> Self {
        Self { text, value: OnceLock::new() }
    }

    /// What was accepted as a value.
    pub(crate) fn read(value: Value) -> Self {
        Self { text: RawInput::default(), value: OnceLock::from(value) }
    }
}

impl Deref for Args {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| {
            // Whoever asks does so where panics are caught, and a call nobody can judge does not run.
            parse_strict(self.text.as_str(), usize::MAX).unwrap_or_else(|error| {
                unreachable!("arguments were accepted that are not strict JSON: {error}")
            })
        })
    }
}

/// Arguments as somebody looks at them; derefs to their value.
#[derive(Clone, Copy)]
pub struct Given<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    Value(&'a Value),
    Args(&'a Args),
}

impl<'a> Given<'a> {
    /// The value.
    pub fn value(self) -> &'a Value {
        match self.0 {
            Source::Value(value) => value,
            Source::Args(args) => args,
        }
    }
}

impl Deref for Given<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value()
    }
}

impl<'a> From<&'a Value> for Given<'a> {
    fn from(value: &'a Value) -> Self {
        Self(Source::Value(value))
    }
}

impl<'a> From<&'a Args> for Given<'a> {
    fn from(args: &'a Args) -> Self {
        Self(Source::Args(args))
    }
}

impl fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}
