//! Drives the machine: asks the model, runs its calls through the gate, writes down what happened, tells of it.

mod agent;
mod control;
mod meter;
mod purpose;
mod offer;
mod conversation;
mod ask;
mod settle;
mod resume;
mod room;
mod watch;

pub use agent::{Agent, AgentBuilder, Price, prices};
pub use control::{Handle, Interruption};
pub use conversation::{Conversation, Stopped};

pub(crate) use agent::{Config, Parent};
pub(crate) use control::Control;
pub(crate) use meter::Meter;
