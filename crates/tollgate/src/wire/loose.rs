//! Reads a text where one belongs, and does not stumble over what some servers put in its place.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::envelope::Fields;

/// A string, borrowed where it has no escapes.
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// A string where one belongs, or whatever else came in its place.
pub(super) enum Loose<'a> {
    Text(Cow<'a, str>),
    /// A number or a boolean, as text.
    Scalar(String),
    /// Parts of a text, as some servers send them.
    Parts(String),
    Null,
    /// An object, or an array without text.
    Other,
}

impl<'a> Loose<'a> {
    /// What stands somewhere in an envelope; absent counts as null.
    pub(super) fn of(raw: Option<&'a RawValue>) -> Self {
        // A string that cannot be read (half a surrogate pair) is not one.
        raw.map_or(Self::Null, |raw| serde_json::from_str(raw.get()).unwrap_or(Self::Other))
    }

    pub(super) fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(text) => Some(Cow::Owned(text)),
            Self::Scalar(_) | Self::Null | Self::Other => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Loose<'de>, E> {
        Ok(Loose::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Loose<'de>, E> {
        Ok(Loose::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Loose<'de>, E> {
        Ok(Loose::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Loose<'de>, E> {
        Ok(Loose::Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Loose<'de>, E> {
        Ok(Loose::Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Loose<'de>, E> {
        Ok(Loose::Scalar(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Loose<'de>, E> {
        Ok(Loose::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Loose<'de>, A::Error> {
        let mut text: Option<String> = None;
        while let Some(part) = items.next_element::<Part<'de>>()? {
            if let Some(more) = part.0 {
                text.get_or_insert_default().push_str(&more);
            }
        }
        Ok(text.map_or(Loose::Other, Loose::Parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Loose<'de>, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Loose::Other)
    }
}

/// The `text` of one part of a content array.
struct Part<'a>(Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(Fields::read(raw).and_then(|fields| fields.text("text"))))
    }
}
