//! The drafts of JSON Schema: which keywords hold schemas, and how each one reads `$ref` and `$id`.

use serde_json::Value;

/// A draft, older before newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

/// Where the schemas are in the value of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// The value is a schema, or in older drafts a list of them.
    Schema,
    /// A list of schemas.
    List,
    /// A map from names to schemas.
    Map,
    /// A map of schemas that are only there to be referred to.
    Definitions,
    /// Any JSON, to be taken as it is.
    Data,
    /// Nothing this draft knows.
    Unknown,
}

impl Dialect {
    /// The draft a schema names; `None` where it names none. A draft nobody knows is read as the newest one.
    pub(crate) fn named(schema: &Value) -> Option<Result<Self, Unreadable>> {
        let name = schema.get("$schema")?.as_str()?;
        Some(match name.trim_end_matches('#').split_once("//").map_or(name, |(_, rest)| rest) {
            "json-schema.org/draft-03/schema" => Err(Unreadable),
            "json-schema.org/draft-04/schema" => Ok(Self::Draft4),
            "json-schema.org/draft-06/schema" => Ok(Self::Draft6),
            "json-schema.org/draft-07/schema" => Ok(Self::Draft7),
            "json-schema.org/draft/2019-09/schema" => Ok(Self::Draft2019),
            _ => Ok(Self::Draft2020),
        })
    }

    /// The draft of a document: the one it names, or the newest.
    pub(crate) fn of(document: &Value) -> Result<Self, Unreadable> {
        Self::named(document).unwrap_or(Ok(Self::Draft2020))
    }

    /// Up to draft 7, what stands beside a `$ref` has no meaning.
    pub(crate) fn ref_stands_alone(self) -> bool {
        self <= Self::Draft7
    }

    /// Up to draft 7, the validator checks formats and encodings; later ones only note them.
    pub(crate) fn asserts_formats(self) -> bool {
        self <= Self::Draft7
    }

    /// The keyword that names a schema.
    pub(crate) fn id(self) -> &'static str {
        if self == Self::Draft4 { "id" } else { "$id" }
    }

    /// What a keyword holds in this draft.
    pub(crate) fn holds(self, keyword: &str) -> Holds {
        match keyword {
            "properties" | "patternProperties" | "dependencies" => Holds::Map,
            "$defs" | "definitions" => Holds::Definitions,
            "allOf" | "anyOf" | "oneOf" => Holds::List,
            "items" | "additionalProperties" | "not" => Holds::Schema,
            "enum" | "const" | "default" | "examples" | "dependentRequired" => Holds::Data,
            "additionalItems" if self <= Self::Draft2019 => Holds::Schema,
            "contains" | "propertyNames" if self >= Self::Draft6 => Holds::Schema,
            "if" | "then" | "else" if self >= Self::Draft7 => Holds::Schema,
            "dependentSchemas" if self >= Self::Draft2019 => Holds::Map,
            "unevaluatedProperties" | "unevaluatedItems" | "contentSchema" if self >= Self::Draft2019 => {
                Holds::Schema
            }
            "prefixItems" if self >= Self::Draft2020 => Holds::List,
            _ => Holds::Unknown,
        }
    }
}

/// A draft too old to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;
