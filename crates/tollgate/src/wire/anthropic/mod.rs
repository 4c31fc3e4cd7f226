//! Anthropic Messages: content blocks in, `tool_result` blocks out.

mod turn;
mod stream;
mod block;
mod results;
mod repair;
mod tidy;
mod check;

pub(super) use check::check;
pub(super) use repair::repair;
pub(super) use results::results;
pub(super) use stream::Stream;
pub use turn::read_turn;
