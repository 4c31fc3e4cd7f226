//! A schema without references that accepts exactly what the original accepts.
//!
//! Read [`inline`] for the walk, [`index`] for how names are found, [`siblings`] for what happens to keywords
//! beside a `$ref`, [`budget`] for why it always ends.

mod uri;
mod index;
mod siblings;
mod budget;
mod inline;

#[cfg(test)]
mod flatten_tests;
#[cfg(test)]
mod meaning_tests;
#[cfg(test)]
mod uri_tests;

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use self::{
    budget::Budget,
    inline::{Inliner, OnRecursion},
};
use super::dialect::{Dialect, Unreadable};

pub(super) use index::{Index, Target};
pub(super) use uri::NAMELESS;

/// An equivalent schema without `$ref`, `$dynamicRef`, `$recursiveRef`, definitions, ids and anchors.
///
/// Nothing outside the document is ever fetched. The order of keys is kept, and so is `$schema`, which decides
/// how the rest is read. The work and the result are bounded for any input.
pub fn flatten(schema: &Value) -> Result<Value, FlattenError> {
    inlined(schema, OnRecursion::Refuse).map(|flat| flat.schema)
}

/// A flattened schema in which recursion was followed `depth` times and then cut.
pub(super) fn unrolled(schema: &Value, depth: usize) -> Result<Flat, FlattenError> {
    inlined(schema, OnRecursion::Cut { after: depth })
}

/// A schema without references.
pub(super) struct Flat {
    pub(super) schema: Value,
    /// The references that were cut, each once. What stands in their place accepts more than they did.
    pub(super) cut: Vec<String>,
}

fn inlined(schema: &Value, recursion: OnRecursion) -> Result<Flat, FlattenError> {
    budget::check_depth(schema)?;
    let dialect = Dialect::of(schema).map_err(|Unreadable| FlattenError::dialect(schema))?;
    if !speaks_of_names(schema, dialect) {
        let schema = Budget::new().copy(schema)?;
        return Ok(Flat { schema, cut: Vec::new() });
    }
    Inliner::new(schema, dialect, recursion).run(schema)
}

/// Words that give a schema a name, or call it by one.
const NAMING: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$defs",
    "definitions",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
];

/// True when there may be something to inline or to leave out; most schemas of tools have nothing of the kind, and
/// are the same without it. `$schema` further down changes how that part is read.
fn speaks_of_names(schema: &Value, dialect: Dialect) -> bool {
    let naming = |key: &str| key == dialect.id() || NAMING.contains(&key);
    let mut stack = vec![schema];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    if naming(key) || (key == "$schema" && !std::ptr::eq(value, schema)) {
                        return true;
                    }
                    stack.push(inner);
                }
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    false
}

/// Why a schema cannot be flattened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlattenError {
    /// A reference leads back to a schema around it.
    #[error(
        "the reference {0:?} leads back to a schema that contains it; a schema without references cannot say that"
    )]
    RecursiveRef(String),
    /// A reference leaves the document.
    #[error(
        "the reference {0:?} leads out of the document, and nothing outside of it is fetched; put its target into `$defs`"
    )]
    ExternalRef(String),
    /// A reference leads to nothing.
    #[error("the reference {0:?} leads to nothing in the document")]
    UnresolvableRef(String),
    /// A reference whose target depends on how it was reached, without an end.
    #[error("the dynamic reference {0:?} has no single target; use `$ref`")]
    DynamicRef(String),
    /// The result would be too big, or too deep.
    #[error("the schema without references would be too large: {0}")]
    TooLarge(String),
    /// Anything else that has no equivalent without references.
    #[error("{0}")]
    Unsupported(String),
}

impl FlattenError {
    /// The class of the error, one of a closed list.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RecursiveRef(_) => "recursive_ref",
            Self::ExternalRef(_) => "external_ref",
            Self::UnresolvableRef(_) => "unresolvable_ref",
            Self::DynamicRef(_) => "dynamic_ref",
            Self::TooLarge(_) => "too_large",
            Self::Unsupported(_) => "unsupported",
        }
    }

    fn dialect(schema: &Value) -> Self {
        let name = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
        Self::Unsupported(format!("the draft {name:?} is not supported here; use draft 4 or newer"))
    }
}

/// A reference as an error shows it.
fn told(reference: &str) -> String {
    crate::json::shorten(reference, 200)
}

impl Serialize for FlattenError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("FlattenError", 2)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("message", &self.to_string())?;
        fields.end()
    }
}
