//! JSON Schema: compiled once per tool, closed where it is silent, violations told in words.

mod dialect;
mod formats;
mod flatten;
mod walk;
mod modern;
mod merge;
mod simplify;
mod project;
mod cycle;
mod close;
mod compile;
mod explain;

#[cfg(test)]
mod close_tests;
#[cfg(test)]
mod simplify_tests;

pub use crate::wire::Provider;
pub use compile::{BadSchema, Compiled};
pub(crate) use explain::nearest;
pub use flatten::{FlattenError, flatten};
pub use project::{
    Entry, Inverse, Options, ProjectError, Projection, Report, Target, check_provider_rules, project,
    project_with,
};
