//! `OpenAI` chat completions and what is compatible with them: `tool_calls` in, `role: tool` messages out.

mod turn;
mod stream;
mod slots;
mod results;
mod repair;
mod check;

pub(super) use check::check;
pub(super) use repair::repair;
pub(super) use results::results;
pub(super) use stream::Stream;
pub use turn::read_turn;
