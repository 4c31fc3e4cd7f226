//! A schema compiled once, at registration; wrong ones are an error there and then.

use std::sync::LazyLock;

use jsonschema::{PatternOptions, ValidationOptions, Validator};
use serde::Deserialize;
use serde_json::Value;

use super::{
    branching::Branching,
    close::{Formats, closed},
    cycle::{Unending, unending},
    explain::{property_names, violations},
    plain,
    quick::Quick,
    shared::Schema,
};
use crate::{json::Likeness, outcome::Violation};

/// A schema that is ready to judge values.
#[derive(Debug, Clone)]
pub struct Compiled {
    validator: Validator,
    /// The short way, where the schema is plain enough for one.
    quick: Option<Quick>,
    /// The one thing it asks for, where that is a type and nothing else.
    only: Option<Only>,
    /// The author's words. The names in it are only looked for when there is a violation to explain.
    schema: Schema,
    /// How many alternatives it has where it refers to itself.
    ways: u32,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSchema {
    /// Not an object, or an object that is not about objects.
    #[error("the schema of the arguments must be an object schema, not {0}")]
    NotAnObject(String),
    /// A reference that leads back to itself without an end.
    #[error("the schema refers to itself without end, at {0:?}")]
    Endless(String),
    /// So many schemas look at the same value that checking it would not end in time.
    #[error("the schema looks at one value in too many ways, by {0:?}")]
    TooManyWays(String),
    /// Anything else the compiler refuses: unknown types, broken references, patterns that do not compile.
    #[error("the schema cannot be compiled: {0}")]
    Invalid(String),
}

/// How far a pattern with look-around may go back before it counts as not matching. Patterns without it run on
/// a linear engine and never go back.
const BACKTRACK_LIMIT: usize = 20_000;

impl Compiled {
    /// Compiles the schema of a tool's arguments, closed where it is silent.
    pub fn arguments(schema: impl Into<Schema>) -> Result<Self, BadSchema> {
        let schema = schema.into();
        speaks_of_objects(&schema)?;
        let closed = closed(&schema);
        if closed.refers {
            comes_to_an_end(&closed.schema)?;
        }
        let validator = build(&closed.schema, closed.formats)?;
        Ok(Self { validator, quick: Quick::of(&closed.schema), only: None, schema, ways: closed.ways })
    }

    /// Compiles the schema of a tool's arguments; where it is silent about further fields, they are taken.
    pub fn open_arguments(schema: impl Into<Schema>) -> Result<Self, BadSchema> {
        let schema = schema.into();
        speaks_of_objects(&schema)?;
        Self::any(schema)
    }

    /// Compiles a schema as it is.
    pub fn any(schema: impl Into<Schema>) -> Result<Self, BadSchema> {
        let schema = schema.into();
        comes_to_an_end(&schema)?;
        let ways = Branching::of(&schema).ways;
        let (validator, only) = (build(&schema, Formats::AsDraft)?, Only::of(&schema));
        Ok(Self { validator, quick: None, only, schema, ways })
    }

    /// True when the value is what the schema asks for.
    pub fn accepts(&self, value: &Value) -> bool {
        self.only.is_some_and(|only| only.surely(value)) || self.validator.is_valid(value)
    }

    /// The arguments as the tool wants them and what stands for them, where one look at their text tells that it is
    /// strict JSON the schema accepts. `None` tells nothing.
    pub(crate) fn read<'t, T: Deserialize<'t>>(&self, text: &'t str) -> Option<(T, Likeness)> {
        plain::read(self.quick.as_ref()?, text)
    }

    /// Every violation in words, with its JSON pointer. Empty exactly when the value is accepted.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        if Branching::is_too_deep(self.ways, value) {
            let message = "the arguments do not fit the schema, and are nested too deeply to say where";
            let told = Violation { pointer: String::new(), message: message.to_owned(), did_you_mean: None };
            return if self.accepts(value) { Vec::new() } else { vec![told] };
        }
        violations(&self.validator, value, &property_names(&self.schema))
    }
}

/// A type that a schema asks for and nothing else, as most outputs that are one number or text do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    Null,
    Boolean,
    Integer,
    Number,
    Text,
}

impl Only {
    fn of(schema: &Value) -> Option<Self> {
        let map = schema.as_object()?;
        let only = match map.get("type")?.as_str()? {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::Text,
            _ => return None,
        };
        // A format speaks of texts alone.
        let asks_nothing = |key: &String| match key.as_str() {
            "type" | "title" | "description" | "$schema" => true,
            "format" => only != Self::Text,
            _ => false,
        };
        map.keys().all(asks_nothing).then_some(only)
    }

    /// True for what is surely of the type; otherwise it tells nothing.
    fn surely(self, value: &Value) -> bool {
        match value {
            Value::Null => self == Self::Null,
            Value::Bool(_) => self == Self::Boolean,
            Value::Number(_) if self == Self::Number => true,
            Value::Number(number) => self == Self::Integer && !number.is_f64(),
            Value::String(_) => self == Self::Text,
            Value::Array(_) | Value::Object(_) => false,
        }
    }
}

/// Made once: making them costs a third of compiling a small schema.
static AS_DRAFT: LazyLock<ValidationOptions<'static>> = LazyLock::new(|| {
    jsonschema::options().with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
});
static CHECKED: LazyLock<ValidationOptions<'static>> =
    LazyLock::new(|| AS_DRAFT.clone().should_validate_formats(true));

fn speaks_of_objects(schema: &Value) -> Result<(), BadSchema> {
    let Value::Object(map) = schema else {
        return Err(BadSchema::NotAnObject(crate::json::shorten(&schema.to_string(), 60)));
    };
    match map.get("type") {
        None => Ok(()),
        Some(Value::String(name)) if name == "object" => Ok(()),
        Some(Value::Array(names)) if names.iter().any(|name| name == "object") => Ok(()),
        Some(other) => Err(BadSchema::NotAnObject(format!("type {other}"))),
    }
}

fn comes_to_an_end(schema: &Value) -> Result<(), BadSchema> {
    match unending(schema) {
        None => Ok(()),
        Some(Unending::Loop(reference)) => Err(BadSchema::Endless(reference)),
        Some(Unending::TooMany(reference)) => Err(BadSchema::TooManyWays(reference)),
    }
}

fn build(schema: &Value, formats: Formats) -> Result<Validator, BadSchema> {
    let options = match formats {
        Formats::AsDraft => &*AS_DRAFT,
        Formats::Checked => &*CHECKED,
    };
    options.build(schema).map_err(|error| BadSchema::Invalid(crate::json::shorten(&error.to_string(), 300)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_of_one_type_says_what_the_validator_says() {
        let values = [
            json!(null),
            json!(true),
            json!(0),
            json!(-7),
            json!(u64::MAX),
            json!(1.0),
            json!(1.5),
            json!(""),
            json!("2026-11-18"),
            json!([]),
            json!({}),
        ];
        for kind in ["null", "boolean", "integer", "number", "string", "array", "object"] {
            for schema in [
                json!({"type": kind}),
                json!({"type": kind, "title": "T", "description": "D", "format": "date"}),
                json!({"type": kind, "minimum": 1, "minLength": 1, "enum": [true, 1, "2026-11-18"]}),
                json!({"type": [kind]}),
                json!({"type": kind, "not": {}}),
            ] {
                let compiled = Compiled::any(schema.clone()).unwrap();
                for value in &values {
                    let said = compiled.validator.is_valid(value);
                    assert_eq!(compiled.accepts(value), said, "{schema} {value}");
                }
            }
        }
    }
}
