//! A strict stand-in for the three APIs on loopback: refuses what they refuse, and answers what it was told to.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use tollgate_agent::standin::{Say, StandIn};
//! let standin = StandIn::start().await?;
//! standin.say(Say::text("I look.").call("call_1", "read", r#"{"path":"a"}"#));
//! let model = standin.model("anthropic:any");
//! # Ok(()) }
//! ```
//!
//! Each request is judged by [`rules`] first; one that is refused gets the provider's own kind of error, takes no
//! reply off the list, and is remembered in [`StandIn::refused`].

mod server;
mod say;
mod delivery;
mod render;
pub mod rules;

pub use delivery::{Cut, Delivery};
pub use rules::Refused;
pub use say::{Say, Turn};
pub use server::{Seen, StandIn};
