//! Tollgate's memory: what was proposed, decided, started and settled, and what it answered.
//!
//! A [`Store`] is the core's `Ledger`, in SQLite or PostgreSQL. Nothing with an effect starts before its start is
//! durable; every call has one terminal record; what a dead process left open is `unknown` and never run again by
//! itself.

mod error;
mod place;
mod db;
mod schema;
mod key;
mod record;
mod book;
mod writer;
mod settings;
mod store;
mod reading;
mod ledger;
mod lazy;
mod watch;
mod breakers;
mod questions;
mod spending;
mod turns;
mod trace;
mod tree;
mod verify;
mod prune;
mod result_read;
#[doc(hidden)]
pub mod failpoint;

pub use error::{StoreError, Trouble};
pub use lazy::LazyStore;
pub use place::Place;
pub use prune::Pruned;
pub use record::{Line, Unreadable};
pub use result_read::ResultRead;
pub use settings::Settings;
pub use spending::RunSpent;
pub use store::Store;
pub use trace::{Entry, RunSummary};
pub use tree::{CallTrace, ModelTrace, QuestionTrace, RunTrace};
pub use turns::ModelTurn;
pub use verify::{Broken, Report};
pub use watch::Watch;

/// Milliseconds since 1970, for people to read. Nothing is decided by it.
fn now_ms() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// No database keeps a NUL in a text.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{2400}")
}
