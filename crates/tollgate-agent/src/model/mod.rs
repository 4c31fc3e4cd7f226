//! What the loop knows of a model: it is asked, and answers with a turn in its provider's format.
//!
//! ```text
//! Request ─▶ Model::ask ─▶ Reply: Waiting* Event* (Done(turn) | Broken)
//! ```
//!
//! [`Model::ask`] returns at once; whatever happens, happens as a [`Step`] of the [`Reply`], the last of which is
//! [`Step::Done`] or [`Step::Broken`]. Dropping a reply hangs up.

mod request;
mod reply;
mod error;
mod retry;
pub(crate) mod written;
mod recover;
#[cfg(feature = "testing")]
mod scripted;

use tollgate::wire::Provider;

pub use error::{ErrorKind, ModelError};
pub use recover::recover;
pub use reply::{Broken, Reply, Step, Waiting};
pub use request::{Caching, Request, ToolChoice};
pub use retry::Retries;
#[cfg(feature = "testing")]
pub use scripted::Scripted;

/// A model that can be asked.
pub trait Model: Send + Sync + 'static {
    /// Whose format its requests and turns are in.
    fn provider(&self) -> Provider;

    /// The name people type, as `anthropic:claude-sonnet-4-5`.
    fn name(&self) -> &str;

    /// The name its price is found under, in the table of [`Models`](crate::price::Models).
    fn priced_as(&self) -> &str {
        self.name()
    }

    /// How many tokens a request and its answer may have together, where that is known.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Who finds deferred tools.
    fn tool_search(&self) -> ToolSearch {
        ToolSearch::Ours
    }

    /// Asks for the next turn.
    ///
    /// What fails before anything of the answer was handed on is tried again by the model itself, as far as that
    /// helps, and told as [`Step::Waiting`]. What breaks later is never tried again here: the caller has seen part
    /// of the answer, and only it can throw that away. It does so by asking again.
    fn ask(&self, request: Request) -> Reply;
}

/// Who finds deferred tools for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSearch {
    /// The provider: it is given every schema and keeps the deferred ones out of the prompt.
    Native,
    /// Our own `tool_search`; deferred tools are left out of the request until they are found.
    Ours,
}
