//! The agent: provider clients, the loop, sub-agents and cassettes.
//!
//! ```text
//! Conversation ─ asks ─▶ Machine ─ next ─▶ CallModel ─▶ Model      (model/, provider/, cassette/)
//!      ▲                    ▲               CallTools ─▶ Tollgate   (the gate: no call runs around it)
//!      │                    │
//!  Handle: say, interrupt   └── facts ──▶ SessionLog                (session/: the same facts, the same machine)
//! ```

pub mod model;
pub mod provider;
pub mod price;
pub mod cassette;
mod open;
#[cfg(feature = "testing")]
pub mod standin;
pub mod history;
pub mod machine;
pub mod event;
pub mod session;
mod role;
mod person;
mod tools;
mod runner;

pub use event::{AgentEvent, Listener, Teller, events};
pub use history::Part;
pub use machine::{Limits, Machine, Spent, StopReason};
pub use open::open;
pub use person::{Inquiry, NoPerson, Person};
pub use role::Role;
pub use runner::{Agent, AgentBuilder, Conversation, Handle, Interruption, Price, Stopped, prices};
pub use tools::{Desk, DeskBuilder, DeskError, ModelSource, TodoItem, TodoState};
