//! Reads the frame around calls one level at a time: duplicates are seen, and arguments stay untouched text.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{
    Provider,
    loose::Text,
    turn::{WireError, shown},
};

/// One object, its fields in order, each value as the text it came as. A key that stands twice is there twice.
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// `None` where the text is not an object.
    pub(super) fn read(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// The value of a key; the last where it stands twice. A null is a value.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.all(key).last()
    }

    /// The value of a key, unless it is absent or null.
    pub(super) fn present(&self, key: &str) -> Option<&'a RawValue> {
        self.get(key).filter(|raw| raw.get() != "null")
    }

    /// Every key, in order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }

    /// Every value under a key.
    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &'a RawValue> {
        self.0.iter().filter(move |(name, _)| name == key).map(|(_, raw)| *raw)
    }

    /// The value of a key where it is a string.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(text_of)
    }

    /// The first of these keys that stands twice: readers disagree on which one counts.
    pub(super) fn twice<'k>(&self, keys: &[&'k str]) -> Option<&'k str> {
        keys.iter().copied().find(|key| self.all(key).count() > 1)
    }

    /// True where a key's value, or any of them, is this string.
    pub(super) fn says(&self, key: &str, word: &str) -> bool {
        self.all(key).filter_map(text_of).any(|text| text == word)
    }
}

/// The string a text is, where it is one that every reader reads alike.
pub(super) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// The items of an array, where the text is one.
pub(super) fn items_of(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// The value a text is; `None` where it is nested too deep to hold.
pub(super) fn value_of(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

/// The items of an array; a lone object in its place is the one item, though nobody may rely on it.
pub(super) fn items_or_one(raw: &RawValue) -> Option<(Vec<&RawValue>, Shape)> {
    match raw.get().as_bytes().first() {
        Some(b'{') => Some((vec![raw], Shape::Alone)),
        _ => items_of(raw).map(|items| (items, Shape::List)),
    }
}

/// Whether what belongs in a list stood in one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    List,
    Alone,
}

/// An error body, `{"error": …}` or `{"type": "error", …}`, as the error it is.
pub(super) fn provider_error(fields: &Fields<'_>) -> Option<WireError> {
    let inner = fields.present("error");
    if inner.is_none() && !fields.says("type", "error") {
        return None;
    }
    let (kind, message) = inner.map_or_else(|| kind_and_message(fields), describe_error);
    Some(WireError::Provider { kind, message })
}

/// What stands under `error`: an object with a type or code and a message, or just a sentence.
pub(super) fn describe_error(raw: &RawValue) -> (String, String) {
    match Fields::read(raw) {
        Some(fields) => kind_and_message(&fields),
        None => ("an error".to_owned(), shown(&text_of(raw).unwrap_or(Cow::Borrowed(raw.get())))),
    }
}

fn kind_and_message(fields: &Fields<'_>) -> (String, String) {
    let word = |key: &str| fields.text(key).filter(|word| !word.is_empty() && word != "error");
    // The code is the narrower of the two: `invalid_request_error` says little, `context_length_exceeded` all.
    let kind = word("code").or_else(|| word("type")).unwrap_or(Cow::Borrowed("an error"));
    let message = word("message").unwrap_or(Cow::Borrowed("no reason given"));
    (shown(&kind), crate::json::shorten(&message, 500))
}

/// The error for JSON that is something else than a turn, with a word on what it looks like.
pub(super) fn not_a_turn(provider: Provider, missing: &str, fields: Option<&Fields<'_>>) -> WireError {
    let message = match fields.and_then(looks_like) {
        Some(other) if other != provider => format!("{missing}; it looks like {other}"),
        _ => missing.to_owned(),
    };
    WireError::NotATurn { provider, message }
}

/// Whose turn an object looks like.
pub(super) fn looks_like(fields: &Fields<'_>) -> Option<Provider> {
    let has = |key| fields.get(key).is_some();
    match () {
        () if has("choices") || has("tool_calls") => Some(Provider::OpenAiChat),
        () if has("output") => Some(Provider::OpenAiResponses),
        () if has("content") => Some(Provider::Anthropic),
        () => None,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                    fields.push((key, map.next_value::<&'de RawValue>()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// A key, read as bytes: half a surrogate pair in a key nobody asks for must not hide the calls beside it.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Key<'de>, E> {
                Ok(Key(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }
        }
        deserializer.deserialize_bytes(KeyVisitor)
    }
}
