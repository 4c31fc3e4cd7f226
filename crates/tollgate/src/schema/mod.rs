//! JSON Schema: compiled once per tool, closed where it is silent, violations told in words; and projected to
//! what each provider takes.
//!
//! The original validates (`compile`, `close`, `explain`). What goes on the wire is made of it in steps, each of
//! which keeps its meaning: without references (`flatten`), in the words of the newest draft (`modern`), with as
//! few combinators as it takes (`simplify`), the provider's way (`project`).

mod shared;
mod dialect;
mod formats;
mod walk;
mod flatten;
mod modern;
mod merge;
mod simplify;
mod project;
mod cycle;
mod branching;
mod close;
mod quick;
mod plain;
mod compile;
mod explain;

#[cfg(test)]
mod close_tests;
#[cfg(test)]
mod quick_tests;
#[cfg(test)]
mod simplify_tests;

pub use crate::wire::Provider;
pub use compile::{BadSchema, Compiled};
pub use explain::nearest;
pub use flatten::{FlattenError, flatten};
pub use project::{
    Inverse, ProjectError, ProjectOptions, Projection, Report, ReportEntry, Target, check_provider_rules,
    project, project_with,
};
pub use shared::Schema;
