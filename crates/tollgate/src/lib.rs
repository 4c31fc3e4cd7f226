//! The tool system of AI agents: the model proposes; Tollgate decides, runs and records.
//!
//! Every call walks one path, in one order, to exactly one answer. Read [`pipeline`](crate::Tollgate) first,
//! then the files of `call/` in their order.

pub mod tool;
pub mod schema;
pub mod catalog;
pub mod call;
pub mod policy;
pub mod hook;
pub mod guard;
pub mod outcome;
pub mod wire;
mod dispatch;
mod pipeline;
mod explain;
mod gate;

pub mod event;
pub mod json;

pub use call::Proposed;
pub use catalog::Registry;
pub use dispatch::{Interrupter, Turn, TurnStream};
pub use explain::{Explanation, Foreseen};
pub use gate::{Builder, DEFAULT_CONCURRENCY, Tollgate};
pub use outcome::{Failure, IntoOutput, Json, Output, Refusal, Settled};
pub use policy::Opinion;
#[cfg(feature = "macros")]
pub use tollgate_macros::tool;
pub use tool::{Cx, Effects, Scope, Tool, ToolSpec};
