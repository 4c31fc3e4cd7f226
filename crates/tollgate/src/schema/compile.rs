//! A schema compiled once, at registration; wrong ones are an error there and then.

use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::{
    close::closed,
    cycle::endless_reference,
    explain::{property_names, violations},
};
use crate::outcome::Violation;

/// A schema that is ready to judge values.
#[derive(Debug, Clone)]
pub struct Compiled {
    validator: Validator,
    /// What was compiled. The names in it are only looked for when there is a violation to explain.
    schema: Arc<Value>,
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
    /// Anything else the compiler refuses: unknown types, broken references, patterns that do not compile.
    #[error("the schema cannot be compiled: {0}")]
    Invalid(String),
}

/// How far a pattern with look-around may go back before it counts as not matching. Patterns without it run on
/// a linear engine and never go back.
const BACKTRACK_LIMIT: usize = 20_000;

impl Compiled {
    /// Compiles the schema of a tool's arguments, closed where it is silent.
    pub fn arguments(schema: &Value) -> Result<Self, BadSchema> {
        let Value::Object(map) = schema else {
            return Err(BadSchema::NotAnObject(crate::json::shorten(&schema.to_string(), 60)));
        };
        match map.get("type") {
            None => {}
            Some(Value::String(name)) if name == "object" => {}
            Some(Value::Array(names)) if names.iter().any(|name| name == "object") => {}
            Some(other) => return Err(BadSchema::NotAnObject(format!("type {other}"))),
        }
        let closed = closed(schema);
        Self::build(closed.schema, closed.checks_formats)
    }

    /// Compiles a schema as it is.
    pub fn any(schema: &Value) -> Result<Self, BadSchema> {
        Self::build(schema.clone(), None)
    }

    fn build(schema: Value, checks_formats: Option<bool>) -> Result<Self, BadSchema> {
        if let Some(reference) = endless_reference(&schema) {
            return Err(BadSchema::Endless(reference));
        }
        let mut options = jsonschema::options()
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT));
        if let Some(checks) = checks_formats {
            options = options.should_validate_formats(checks);
        }
        let validator = options
            .build(&schema)
            .map_err(|error| BadSchema::Invalid(crate::json::shorten(&error.to_string(), 300)))?;
        Ok(Self { validator, schema: Arc::new(schema) })
    }

    /// True when the value is what the schema asks for.
    pub fn accepts(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Every violation in words, with its JSON pointer. Empty exactly when the value is accepted.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        violations(&self.validator, value, &property_names(&self.schema))
    }
}
