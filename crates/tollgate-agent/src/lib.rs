//! The agent: provider clients, the loop, sub-agents and cassettes.
//!
//! ```text
//! Conversation ─ asks ─▶ Machine ─ next ─▶ CallModel ─▶ Model      (model/, provider/, cassette/)
//!      ▲                    ▲               CallTools ─▶ Tollgate   (the gate: no call runs around it)
//!      │                    │
//!  Handle: say, interrupt   └── facts ──▶ SessionLog                (session/: the same facts, the same machine)
//! ```
//!
//! ```no_run
//! use std::sync::Arc;
//! use tollgate::{Registry, Scope, Tollgate, guard::{Run, Workspace}};
//! use tollgate_agent::{Agent, Part, model::Model, session::{SessionFolder, new_session_id}};
//!
//! # async fn example(model: Arc<dyn Model>) -> Result<(), Box<dyn std::error::Error>> {
//! let gate = Tollgate::builder(Registry::new()).build();
//! let scope = Scope::new(Run::new("mine"), Workspace::new("/srv/work"));
//! let agent = Agent::builder(model, gate, scope)
//!     .system("You look after this folder.")
//!     .sessions(Arc::new(SessionFolder::new("/srv/sessions")))
//!     .build();
//! let mut conversation = agent.begin(new_session_id())?;
//! let handle = conversation.handle(); // elsewhere: handle.interrupt(), handle.say(…)
//! let stopped = conversation.say(vec![Part::text("Is everything in order?")]).await;
//! println!("{}: {}", stopped.reason.sentence(), stopped.text.unwrap_or_default());
//! # drop(handle);
//! # Ok(()) }
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
