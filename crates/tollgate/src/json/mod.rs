//! Strict JSON in: a value only where every reader would read the same one. Canonical JSON out, for digests.

use std::{fmt, fmt::Write as _};

mod likeness;

pub(crate) use likeness::Likeness;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};

/// Why a text is not strict JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotStrict {
    /// Longer than the limit.
    #[error("{size} bytes of JSON are more than the {limit} that are accepted")]
    TooLong {
        /// What came.
        size: usize,
        /// What is accepted.
        limit: usize,
    },
    /// Nested deeper than the limit.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// A key that stands twice in one object: readers disagree on which one counts.
    #[error("the key {key:?} stands twice in one object (line {line}, column {column})")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where the second one is.
        line: usize,
        /// Where the second one is.
        column: usize,
    },
    /// Not JSON at all.
    #[error("{message} (line {line}, column {column})")]
    Syntax {
        /// What the parser says.
        message: String,
        /// Where.
        line: usize,
        /// Where.
        column: usize,
    },
}

/// The deepest nesting of arguments that is read.
pub const MAX_DEPTH: usize = 127;

/// Reads strict JSON: no duplicate keys, at most `max_bytes` long and [`MAX_DEPTH`] deep, nothing after it.
pub fn parse_strict(text: &str, max_bytes: usize) -> Result<Value, NotStrict> {
    if text.len() > max_bytes {
        return Err(NotStrict::TooLong { size: text.len(), limit: max_bytes });
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    Strict
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|error| explain(&error))
}

const DUPLICATE: &str = "duplicate key ";
// The words of serde_json, whose own limit this is.
const DEEP: &str = "recursion limit exceeded";

fn explain(error: &serde_json::Error) -> NotStrict {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message);
    let (line, column) = (error.line(), error.column());
    if let Some(key) = message.strip_prefix(DUPLICATE) {
        return NotStrict::DuplicateKey { key: shorten(key, 80), line, column };
    }
    if message == DEEP {
        return NotStrict::TooDeep(MAX_DEPTH);
    }
    NotStrict::Syntax { message: message.to_owned(), line, column }
}

/// Reads one value.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(free) => free.insert(fields.next_value_seed(Strict)?),
                Entry::Occupied(taken) => {
                    return Err(de::Error::custom(format_args!("{DUPLICATE}{}", taken.key())));
                }
            };
        }
        Ok(Value::Object(map))
    }
}

/// Writes a value with sorted keys and no blanks, so that equal values give equal bytes.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in keys.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::String(key.clone()));
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

/// The first `chars` characters, marked where something was cut.
pub fn shorten(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}… ({} characters)", &text[..at], text.chars().count()),
        None => text.to_owned(),
    }
}
