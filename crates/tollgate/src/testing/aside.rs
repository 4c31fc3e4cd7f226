//! What did not load, and why, in words for whoever wrote the file.

use std::fmt;

use crate::{catalog::RegistryError, schema::BadSchema, tool::BadName};

/// One tool or route of a file that cannot be used. The rest of the file is not touched by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The tool's name, or its place in the file (`tools[3]`) where it has none.
    pub what: String,
    /// Why.
    pub why: Why,
}

/// Why one tool or route cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Something else stands where a tool should.
    #[error("it is {0}, not an object")]
    NotAnObject(&'static str),
    /// No `name`.
    #[error("it has no name")]
    NoName,
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Another tool has the name already.
    #[error("the name `{name}` is already taken by `{by}`")]
    Taken {
        /// The name or alias both want.
        name: String,
        /// The tool that has it.
        by: String,
    },
    /// None of the keys a schema may stand under.
    #[error("it has no schema of its arguments (`input_schema`, `inputSchema` or `parameters`)")]
    NoSchema,
    /// A schema that cannot be used.
    #[error(transparent)]
    Schema(#[from] BadSchema),
    /// A declaration that cannot be read.
    #[error("{0}")]
    Field(String),
}

/// Why a whole file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMocks {
    /// Not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// JSON without a list of tools in it.
    #[error("it has no list of tools: neither an array, nor an object with `tools` or `result.tools`")]
    NoTools,
}

impl From<RegistryError> for SetAside {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Name { tool, source } => Self { what: tool, why: source.into() },
            RegistryError::Schema { tool, source } => Self { what: tool, why: source.into() },
            RegistryError::Duplicate { tool, name, by } => Self { what: tool, why: Why::Taken { name, by } },
            RegistryError::Other { tool, message } => Self { what: tool, why: Why::Field(message) },
        }
    }
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}
