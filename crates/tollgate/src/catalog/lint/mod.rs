//! What good tool design asks for and a tool does not have, each finding with the fix. Pure: nothing runs.
//!
//! Each rule is one small function over one [`Subject`]. What a tool does to the world and whether it has a check of
//! its own cannot be seen in a [`ToolSpec`](crate::ToolSpec): those rules speak only where a [`Declared`] says so, as it does for
//! tools that come from a file.

mod subject;
mod names;
mod descriptions;
mod conduct;
mod cost;
mod providers;
mod hidden;

#[cfg(test)]
mod lint_tests;

pub use cost::estimated_tokens;
pub use subject::{Declared, Finding, Hints, Level, Subject};

/// A rule: what it finds in one tool.
type Rule = fn(Subject<'_>) -> Option<Finding>;

const RULES: [Rule; 15] = [
    names::vague_name,
    names::broad_primitive,
    descriptions::thin_description,
    descriptions::undescribed_arguments,
    descriptions::many_optional_fields,
    conduct::unlimited_result,
    conduct::missing_result_limit,
    conduct::unchecked_write,
    conduct::destructive_not_idempotent,
    conduct::undeclared_interrupt,
    cost::costly_always_load,
    providers::provider_name,
    providers::unportable_schema,
    providers::not_strict,
    hidden::hidden_characters,
];

/// Everything the rules find in a tool, in the order of the rules.
pub fn lint(subject: Subject<'_>) -> Vec<Finding> {
    RULES.iter().filter_map(|rule| rule(subject)).collect()
}
