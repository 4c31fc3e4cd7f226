//! The formats of model providers: tools out, turns in, results back, histories in order. Pure: no network, no
//! clock, no files.
//!
//! A turn comes whole ([`read_turn`]) or as a stream ([`TurnReader`]); either way it is a [`ModelTurn`], whose calls
//! carry their arguments as the text the model wrote. What is malformed or cut is found here and marked on the call,
//! so that it is answered and never run. [`results_message`] is the way back, [`repair`] the last look at a history
//! before it leaves.

mod provider;
mod turn;
mod body;
mod envelope;
mod loose;
mod calls;
mod sse;
mod track;
mod stream;
pub mod anthropic;
pub mod openai_responses;
pub mod openai_chat;
mod image;
mod results;
pub mod plain;
mod history;
mod tools;
mod names;

pub use history::{RepairReport, check, history_json, repair};
pub use image::media_type;
pub use names::WireNames;
pub use provider::{Provider, UnknownProvider};
pub use results::{ChatImages, fault_message, results_for, results_message, results_message_with};
pub use stream::{TurnEvent, TurnReader};
pub use tools::{CacheMark, WireTool, tools_array, tools_json};
pub use turn::{MAX_BODY_BYTES, MAX_CALLS, ModelTurn, Stop, Usage, WireError};

/// Reads a whole turn: a response body as the provider sent it, or its bare assistant message.
pub fn read_turn(provider: Provider, body: &[u8]) -> Result<ModelTurn, WireError> {
    match provider {
        Provider::Anthropic => anthropic::read_turn(body),
        Provider::OpenAiResponses => openai_responses::read_turn(body),
        Provider::OpenAiChat => openai_chat::read_turn(body),
    }
}

#[cfg(test)]
mod test_turns;
#[cfg(test)]
mod body_tests;
#[cfg(test)]
mod sse_tests;
#[cfg(test)]
mod turn_tests;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod results_tests;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod tools_tests;
#[cfg(test)]
mod names_tests;
