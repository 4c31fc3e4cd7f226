//! The agent's own tools: they reach the agent that called them through the [`Desk`].

mod desk;
mod routes;
mod todo;
mod ask_user;
mod start_work;
mod report;
mod delegate;

pub use desk::{Desk, DeskBuilder, DeskError, ModelSource};
pub use todo::{TodoItem, TodoState};

pub(crate) use desk::{Seat, Sitting};
pub(crate) use routes::Post;
