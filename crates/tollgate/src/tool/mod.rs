//! A tool is a function and its metadata.

use std::future::Future;

use serde::de::DeserializeOwned;

use crate::{
    outcome::{Failure, Output, Refusal},
    policy::Opinion,
};

mod name;
mod memo;
mod spec;
mod effects;
mod peer;
mod scope;
mod cx;
mod args;
mod builder;
pub(crate) mod declared;
mod erased;

pub(crate) use args::Args;
pub use args::Given;
pub use builder::{DynTool, ToolBuilder};
pub use cx::Cx;
pub use declared::input_schema;
pub use effects::{Access, Concurrency, Effects, Part, Resource};
pub(crate) use erased::{Erased, erase};
pub(crate) use memo::Owner;
pub use name::{
    BadName, CallId, Caller, IdempotencyKey, MAX_NAME, Origin, Route, RunId, ToolId, ToolName, WrittenName,
};
pub use peer::{Answers, Peer, PeerFault, PeerRequest, Requests};
pub use scope::{Isolation, Scope};
pub use spec::{DEFAULT_RESULT_CHARS, Interrupt, OnFatal, ResultLimit, Timeouts, ToolSpec, Visibility};

/// Something a model may ask for.
///
/// The `#[tool]` attribute writes this for an `async fn`; [`ToolBuilder`] makes one at run time. Whatever is
/// left out is on the safe side. Only the pipeline can call [`Tool::run`]: nobody else can make a [`Cx`].
pub trait Tool: Send + Sync + 'static {
    /// The arguments, as the body wants them. `serde_json::Value` for tools made at run time.
    type Args: DeserializeOwned + Send + Sync + 'static;

    /// The metadata. Asked once, at registration.
    fn spec(&self) -> ToolSpec;

    /// False while the tool cannot be used. Asked between turns.
    fn is_enabled(&self) -> bool {
        true
    }

    /// What a call with these arguments would do. The worst, unless declared.
    fn effects(&self, scope: &Scope, args: &Self::Args) -> Effects {
        let _ = (scope, args);
        Effects::worst()
    }

    /// The tool's own rules: right type, wrong value. Runs after the schema, never before.
    fn check(&self, scope: &Scope, args: &Self::Args) -> impl Future<Output = Result<(), Refusal>> + Send {
        let _ = (scope, args);
        std::future::ready(Ok(()))
    }

    /// The tool's own view of who may do this. It can tighten what policy decided, never widen it.
    fn authorize(&self, scope: &Scope, args: &Self::Args) -> Opinion {
        let _ = (scope, args);
        Opinion::Abstain
    }

    /// The body.
    fn run(&self, cx: &Cx, args: &Self::Args) -> impl Future<Output = Result<Output, Failure>> + Send;
}
