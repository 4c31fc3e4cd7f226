//! Reads one JSON object field by field, with words for what is wrong. `null` counts as absent.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Why;
use crate::json::shorten;

/// The fields of one object, and where it stands in the tool, for messages.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: &'a str,
}

/// Nothing a mock does takes longer; a larger number would overflow the clock and mean the same.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl<'a> Fields<'a> {
    /// The fields of a whole tool.
    pub(super) fn of_tool(map: &'a Map<String, Value>) -> Self {
        Self { map, place: "" }
    }

    /// The fields of an object inside a tool.
    pub(super) fn inside(place: &'a str, value: &'a Value) -> Result<Self, Why> {
        match value {
            Value::Object(map) => Ok(Self { map, place }),
            other => Err(Why::Field(format!("`{place}` must be an object, not {}", kind(other)))),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Why> {
        self.read(key, "a text", Value::as_str)
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Why> {
        self.read(key, "true or false", Value::as_bool)
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, Why> {
        self.read(key, "a whole number from 0 on", Value::as_u64)
    }

    pub(super) fn fraction(&self, key: &str) -> Result<Option<f64>, Why> {
        self.read(key, "a number", Value::as_f64)
    }

    pub(super) fn list(&self, key: &str) -> Result<Option<&'a [Value]>, Why> {
        self.read(key, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<&'a str>, Why> {
        let texts = |value: &'a Value| value.as_array()?.iter().map(Value::as_str).collect();
        Ok(self.read(key, "a list of texts", texts)?.unwrap_or_default())
    }

    /// A time in milliseconds; more than a day means a day.
    pub(super) fn millis(&self, key: &str) -> Result<Option<Duration>, Why> {
        Ok(self.number(key)?.map(|millis| Duration::from_millis(millis).min(LONGEST)))
    }

    /// A JSON pointer into the arguments: empty, or beginning with `/`.
    pub(super) fn pointer(&self, key: &str) -> Result<Option<&'a str>, Why> {
        let pointer =
            |value: &'a Value| value.as_str().filter(|text| text.is_empty() || text.starts_with('/'));
        self.read(key, "a JSON pointer, as `/path`", pointer)
    }

    /// One word of a closed list.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Why> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| {
            let list: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.wrong(key, &format!("one of {}", list.join(", ")), value)
        })
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Why> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.wrong(key, wanted, value))
    }

    /// The words for a field that is not what it should be.
    pub(super) fn wrong(&self, key: &str, wanted: &str, came: &Value) -> Why {
        let came = shorten(&came.to_string(), 60);
        Why::Field(format!("`{}` must be {wanted}, not {came}", self.path(key)))
    }

    /// The words for a field that must be there.
    pub(super) fn needs(&self, what: &str) -> Why {
        Why::Field(format!("`{}` needs {what}", self.place))
    }

    fn path(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }
}

/// What a value is, in one or two words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
