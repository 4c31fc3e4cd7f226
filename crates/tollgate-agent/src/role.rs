//! What an agent is for: its instructions, its tools, its model and what it may spend.

use serde::{Deserialize, Serialize};

use crate::machine::Limits;

/// A role an agent can have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Role {
    /// What it is for, in a line: whoever delegates chooses by it.
    pub description: String,
    /// The model, as `anthropic:claude-…`; the parent's where it is not set.
    pub model: Option<String>,
    /// What it is told before everything else.
    pub instructions: String,
    /// Patterns of the tools it has, as `read_file`, `@github`, `!shell`; every one of its parent's where empty.
    pub tools: Vec<String>,
    /// The route it is on: only tools of both are exposed.
    pub route: Option<String>,
    /// What it may take. Whatever stands here, it never takes more than is left to its parent.
    pub limits: Limits,
}
