//! A schema as a model's provider takes it, with a report of what became of the original and the way back.
//!
//! The original validates; a projection only goes on the wire. A strict one is given where everything it accepts
//! is accepted by the original too: [`narrow`] makes it smaller until the provider can say it, [`dress`] writes it
//! the provider's way, [`Inverse`] takes that back from the arguments that come in. Anything else gets the
//! [`loose`] form, which providers take as guidance.

mod report;
mod inverse;
mod keys;
mod words;
mod values;
mod narrow;
mod alternatives;
mod disjoint;
mod plain;
mod object;
mod dress;
mod root;
mod loose;
mod rules;

#[cfg(test)]
mod disjoint_tests;
#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod project_tests;
#[cfg(test)]
mod sound_tests;
#[cfg(test)]
mod instances;

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value};

use crate::wire::Provider;

use super::{
    dialect::Dialect,
    flatten::{Flat, FlattenError, flatten, unrolled},
    modern::modern,
    simplify::simplify,
};

pub use inverse::Inverse;
pub use report::{Report, ReportEntry};
pub use rules::check_provider_rules;

/// What a schema is projected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// Whose format.
    pub provider: Provider,
    /// Whether the provider should hold the model to the schema, where that can be said.
    pub strict: bool,
}

/// Choices that do not depend on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ProjectOptions {
    /// How often recursion is followed before it is cut. Without it, recursion is refused. A schema that was cut
    /// is never strict.
    pub recursion_depth: Option<usize>,
    /// Lets a strict projection leave out optional fields that strict mode cannot express. The model can then
    /// never send them, so it is off unless asked for.
    pub leave_out_optional: bool,
}

impl ProjectOptions {
    /// Follows recursion so many times, then cuts it.
    #[must_use]
    pub fn recursion_depth(mut self, depth: usize) -> Self {
        self.recursion_depth = Some(depth);
        self
    }

    /// Lets a strict projection leave out optional fields it cannot express.
    #[must_use]
    pub fn leave_out_optional(mut self) -> Self {
        self.leave_out_optional = true;
        self
    }
}

/// A schema for the wire.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Projection {
    /// The schema to send.
    pub schema: Value,
    /// True when it is to be sent as strict: asked for, and everything it accepts the original accepts.
    pub strict: bool,
    /// What became of the original's keywords.
    pub report: Report,
    /// What has to be done to arguments that were written for this schema.
    pub inverse: Inverse,
}

/// Why a schema has no projection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// Its references cannot be replaced.
    #[error(transparent)]
    Flatten(#[from] FlattenError),
    /// Arguments are objects, and this schema is not about objects.
    #[error("the schema of the arguments must be an object schema, not {0}")]
    NotAnObject(String),
}

impl ProjectError {
    /// The class of the error: one of [`FlattenError::code`], or `not_an_object`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Flatten(error) => error.code(),
            Self::NotAnObject(_) => "not_an_object",
        }
    }
}

impl Serialize for ProjectError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ProjectError", 2)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("message", &self.to_string())?;
        fields.end()
    }
}

/// Projects a schema with the default [`ProjectOptions`].
pub fn project(schema: &Value, target: Target) -> Result<Projection, ProjectError> {
    project_with(schema, target, ProjectOptions::default())
}

/// Projects a schema. The same input gives the same bytes; any JSON has an answer, in bounded time.
pub fn project_with(
    schema: &Value,
    target: Target,
    options: ProjectOptions,
) -> Result<Projection, ProjectError> {
    let not_an_object =
        |value: &Value| ProjectError::NotAnObject(crate::json::shorten(&value.to_string(), 60));
    if !schema.is_object() {
        // Deep values are not written out: that would recurse.
        let shown = if schema.is_array() { Value::from("an array") } else { schema.clone() };
        return Err(not_an_object(&shown));
    }
    let flat = match options.recursion_depth {
        Some(depth) => unrolled(schema, depth)?,
        None => Flat { schema: flatten(schema)?, cut: Vec::new() },
    };
    // Flattening has refused what no draft explains.
    let dialect = Dialect::of(schema).unwrap_or(Dialect::Draft2020);
    let mut report = Report::default();
    report.note_flattening(schema, &flat);
    let mut plain = modern(flat.schema, dialect);
    simplify(&mut plain);
    let Value::Object(plain) = plain else { return Err(not_an_object(&plain)) };
    check_type(&plain)?;
    if target.strict {
        let before = report.clone();
        match strict(&plain, dialect, target.provider, options, &flat.cut, &mut report) {
            Ok((schema, inverse)) => {
                report.count_kept(&schema);
                return Ok(Projection { schema, strict: true, report, inverse });
            }
            Err(reasons) => report = Report { not_strict: reasons, ..before },
        }
    }
    let (schema, inverse) = loose::loose(plain, target.provider, &mut report);
    report.count_kept(&schema);
    Ok(Projection { schema, strict: false, report, inverse })
}

fn check_type(schema: &Map<String, Value>) -> Result<(), ProjectError> {
    match schema.get("type") {
        Some(kind) if !super::merge::type_names(kind).contains(&"object") => {
            Err(ProjectError::NotAnObject(format!("type {}", crate::json::shorten(&kind.to_string(), 60))))
        }
        _ => Ok(()),
    }
}

fn strict(
    schema: &Map<String, Value>,
    dialect: Dialect,
    provider: Provider,
    options: ProjectOptions,
    cut: &[String],
    report: &mut Report,
) -> Result<(Value, Inverse), Vec<ReportEntry>> {
    if let Some(reference) = cut.first() {
        return Err(vec![ReportEntry::new("", "$ref", format!("it refers to itself, by {reference:?}"))]);
    }
    let narrowed = narrow::Narrow::new(dialect, provider, options, report).root(schema)?;
    let dressed = dress::dress(narrowed, provider, report)?;
    match check_provider_rules(&dressed.0, Target { provider, strict: true }) {
        broken if broken.is_empty() => Ok(dressed),
        broken => Err(broken.into_iter().map(|rule| ReportEntry::new("", "", rule)).collect()),
    }
}
