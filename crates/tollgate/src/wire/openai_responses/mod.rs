//! `OpenAI` Responses: output items in, `function_call_output` items out.

mod turn;
mod stream;
mod item;
mod results;
mod repair;
mod check;

pub(super) use check::check;
pub(super) use repair::repair;
pub(super) use results::results;
pub(super) use stream::Stream;
pub use turn::read_turn;
