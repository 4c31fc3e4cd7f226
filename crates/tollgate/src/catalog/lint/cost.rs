//! What a tool takes of every prompt.

use super::{Finding, Subject};
use crate::{
    schema::{Target, project},
    tool::{ToolSpec, Visibility},
    wire::{CacheMark, WireTool, tools_json},
};

/// What a tool takes of a prompt: a quarter of the bytes it is sent as. An estimate; no tokenizer is asked.
/// `None` where the provider cannot be told of it.
pub fn estimated_tokens(name: &str, spec: &ToolSpec, target: Target) -> Option<usize> {
    let projection = project(&spec.input_schema, target).ok()?;
    let tool = WireTool {
        name: name.to_owned(),
        description: spec.description.to_string(),
        schema: projection.schema,
        strict: projection.strict,
        defer: false,
    };
    Some(tools_json(target.provider, &[tool], CacheMark::None).len().saturating_sub(2).div_ceil(4))
}

/// What a tool in every prompt may cost.
const MOST_TOKENS: usize = 500;

pub(super) fn costly_always_load(subject: Subject<'_>) -> Option<Finding> {
    if subject.spec.visibility != Visibility::AlwaysLoad {
        return None;
    }
    let target = Target { provider: *subject.providers.first()?, strict: false };
    let tokens = estimated_tokens(subject.label, subject.spec, target)?;
    if tokens <= MOST_TOKENS {
        return None;
    }
    let message = format!("it is in every prompt and takes about {tokens} tokens of it");
    subject.warns("costly_always_load", message, "shorten its description and schema, or let it be deferred.")
}
