//! The tool system of AI agents: the model proposes; Tollgate decides, runs and records.
//!
//! Every call walks one path, in one order, to exactly one answer. [`Tollgate`] is the way in; to read the
//! path itself, begin with `pipeline.rs`, then the files of `call/` in their order.

pub mod tool;
pub mod schema;
pub mod catalog;
pub mod call;
pub mod policy;
pub mod hook;
pub mod launch;
pub mod guard;
pub mod outcome;
pub mod wire;
mod dispatch;
mod pipeline;
mod explain;
mod gate;

pub mod event;
pub mod json;
#[cfg(feature = "testing")]
pub mod testing;

pub use call::Proposed;
pub use catalog::Registry;
pub use dispatch::{Interrupter, Turn, TurnStream};
pub use explain::{Explanation, Foreseen};
/// What methods return that are called through a trait object, as [`policy::Approver::ask`] is.
pub use futures_util::future::BoxFuture;
pub use gate::{Builder, DEFAULT_CONCURRENCY, Tollgate};
pub use outcome::{Failure, IntoOutput, Json, Output, Refusal, Settled};
pub use policy::Opinion;
/// What arguments of a tool derive beside `serde::Deserialize`; name it in `#[schemars(crate = "tollgate::schemars")]`.
pub use schemars;
/// What stops a run, a turn or a call.
pub use tokio_util::sync::CancellationToken;
/// Makes a tool of an `async fn`.
///
/// ```
/// use tollgate::{Effects, Registry, tool};
///
/// /// Adds two numbers.
/// #[tool(effects = |_, _| Effects::reading(), inline)]
/// async fn add(
///     /// The first number.
///     a: i64,
///     /// The second one, 0 when left out.
///     b: Option<i64>,
/// ) -> i64 {
///     a + b.unwrap_or(0)
/// }
///
/// let registry = Registry::new().with(add)?;
/// # Ok::<_, tollgate::catalog::RegistryError>(())
/// ```
#[cfg(feature = "macros")]
pub use tollgate_macros::tool;
pub use tool::{Cx, Effects, Scope, Tool, ToolSpec};

/// What the code that `#[tool]` writes speaks of, so that its users need no dependency but this crate.
#[doc(hidden)]
pub mod __private {
    pub use crate::tool::declared::{names, spec};
    pub use schemars;
    pub use serde;
    pub use serde_json;
}

// The README's program is compiled and run with the other documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
