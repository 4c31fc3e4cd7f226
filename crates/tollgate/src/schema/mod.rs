//! JSON Schema: compiled once per tool, closed where it is silent, violations told in words.

mod dialect;
mod flatten;
mod cycle;
mod close;
mod compile;
mod explain;

pub use compile::{BadSchema, Compiled};
pub(crate) use explain::nearest;
pub use flatten::{FlattenError, flatten};
