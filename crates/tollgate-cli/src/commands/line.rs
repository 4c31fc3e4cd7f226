//! One line of calls: `{"id","tool","input"}`. What was read before it went wrong is kept, so that the answer
//! still carries the call's own id.

use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use tollgate::{Proposed, call::RawInput, outcome::RefusalCode};

/// What a line says.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) id: Option<String>,
    pub(crate) tool: Option<String>,
    input: Option<RawInput>,
    odd: Option<String>,
}

/// Why a line is no call.
#[derive(Debug)]
pub(crate) struct Bad {
    pub(crate) code: RefusalCode,
    pub(crate) reason: String,
}

impl Line {
    /// Reads a line as far as it can be read.
    pub(crate) fn read(bytes: &[u8]) -> (Self, Option<Bad>) {
        let mut line = Self::default();
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let bad = match str::from_utf8(bytes) {
            Ok(text) => line.parse(text),
            Err(error) => {
                // What stands before the bad byte may still say whose line this is.
                let good = str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
                line.parse(good);
                Some(Bad::not_json(&format!("not UTF-8 text, at byte {}", error.valid_up_to())))
            }
        };
        (line, bad)
    }

    /// The call. Without an input there are no arguments, and the gate will say so.
    pub(crate) fn propose(self, id: &str) -> Proposed {
        Proposed::new(id, self.tool.unwrap_or_default(), self.input.unwrap_or_default())
    }

    fn parse(&mut self, text: &str) -> Option<Bad> {
        let mut parser = serde_json::Deserializer::from_str(text);
        let parsed = parser.deserialize_map(&mut *self).and_then(|()| parser.end());
        match parsed {
            Err(error) if error.is_data() => Some(Bad::protocol("the line is JSON, but no object")),
            Err(error) => Some(Bad::not_json(&error.to_string())),
            Ok(()) => match (&self.odd, &self.tool) {
                (Some(odd), _) => Some(Bad::protocol(odd)),
                (None, None) => Some(Bad::protocol("the line names no `tool`")),
                (None, Some(_)) => None,
            },
        }
    }

    fn take(&mut self, key: &str, value: Value) {
        let field = if key == "id" { &mut self.id } else { &mut self.tool };
        match value {
            Value::String(_) if field.is_some() => self.odd = Some(format!("`{key}` stands twice")),
            Value::String(text) => *field = Some(text),
            other => {
                self.odd = Some(format!("`{key}` must be a text"));
                // A number is no id, but whoever sent it will know it again.
                if key == "id" && other.is_number() {
                    *field = Some(other.to_string());
                }
            }
        }
    }
}

impl<'de> Visitor<'de> for &mut Line {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `id`, `tool` and `input`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(key) = fields.next_key::<String>()? {
            match key.as_str() {
                "id" | "tool" | "name" => self.take(&key, fields.next_value()?),
                "input" => {
                    if self.input.replace(fields.next_value()?).is_some() {
                        self.odd = Some("`input` stands twice".to_owned());
                    }
                }
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl Bad {
    fn not_json(why: &str) -> Self {
        Self { code: RefusalCode::InvalidJson, reason: format!("The line cannot be read as JSON: {why}.") }
    }

    fn protocol(why: &str) -> Self {
        Self { code: RefusalCode::ProtocolError, reason: format!("The line is no call: {why}.") }
    }

    /// For a line longer than any call may be.
    pub(crate) fn too_large(size: usize, limit: usize) -> Self {
        let reason = format!("The line has {size} bytes, more than the {limit} that are read.");
        Self { code: RefusalCode::TooLarge, reason }
    }
}
