//! A turn while it is still coming: text as it is written, calls as soon as they are whole, the turn at the end.

use super::{
    ModelTurn, Provider, Stop, Usage, anthropic, openai_chat, openai_responses,
    sse::{Event, Sse, TooLong},
    track::Track,
};
use crate::call::Proposed;

/// Reads one turn from a stream, in chunks of any size.
///
/// Takes SSE text and, as it is also written down, one JSON object a line. Whatever comes, it neither panics nor
/// keeps more than a bounded amount; what is wrong with the stream is said in [`ModelTurn::stop`], and then none
/// of its calls runs.
pub struct TurnReader {
    sse: Sse,
    state: State,
}

enum State {
    Anthropic(Box<anthropic::Stream>),
    OpenAiResponses(Box<openai_responses::Stream>),
    OpenAiChat(Box<openai_chat::Stream>),
}

/// Something that happened in a turn that is still coming.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// More of the text.
    TextDelta(String),
    /// More of what the model thinks, where the provider shows it.
    ThinkingDelta(String),
    /// A call whose arguments are complete. It may still turn out to belong to a cut turn.
    CallReady(Proposed),
    /// What the turn cost so far.
    Usage(Usage),
    /// Why the model stopped.
    Stop(Stop),
    /// The turn is cut, and why.
    Error(String),
    /// An event of a type this version does not know.
    Ignored(String),
}

/// What one event is given to a stream as.
#[derive(Clone, Copy)]
pub(super) struct Incoming<'a> {
    /// The name of the `event:` line; often empty.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// Bytes had to be replaced to make it a text.
    pub(super) damaged: bool,
}

impl TurnReader {
    /// A reader for one turn of this provider.
    pub fn new(provider: Provider) -> Self {
        let state = match provider {
            Provider::Anthropic => State::Anthropic(Box::default()),
            Provider::OpenAiResponses => State::OpenAiResponses(Box::default()),
            Provider::OpenAiChat => State::OpenAiChat(Box::default()),
        };
        Self { sse: Sse::default(), state }
    }

    /// Takes the next bytes; says what they completed.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<TurnEvent> {
        let mut out = Vec::new();
        if self.state.track().is_dead() {
            return out;
        }
        let Self { sse, state } = self;
        if let Err(TooLong) = sse.push(bytes, |event| state.take(&event, &mut out)) {
            state.track().fail(TOO_LONG, &mut out);
        }
        out
    }

    /// Takes one event, as one JSON object.
    pub fn push_event(&mut self, event: &str) -> Vec<TurnEvent> {
        let mut out = Vec::new();
        self.state.event(Incoming { name: "", text: event, damaged: false }, &mut out);
        out
    }

    /// The stream is over: the whole turn.
    pub fn finish(mut self) -> ModelTurn {
        let mut out = Vec::new();
        let Self { sse, state } = &mut self;
        // An event that was cut in the middle is no event; what is missing shows in the turn.
        if !state.track().is_dead() {
            state.track().ending = true;
            if let Err(TooLong) = sse.finish(|event| state.take(&event, &mut out)) {
                state.track().fail(TOO_LONG, &mut out);
            }
        }
        let stray = self.sse.stray().map(str::to_owned);
        self.state.track().at_end(stray.as_deref());
        match self.state {
            State::Anthropic(stream) => stream.finish(),
            State::OpenAiResponses(stream) => stream.finish(),
            State::OpenAiChat(stream) => stream.finish(),
        }
    }
}

const TOO_LONG: &str = "an event of the stream is too long to be read";

impl State {
    fn track(&mut self) -> &mut Track {
        match self {
            Self::Anthropic(stream) => &mut stream.track,
            Self::OpenAiResponses(stream) => &mut stream.track,
            Self::OpenAiChat(stream) => &mut stream.track,
        }
    }

    fn take(&mut self, event: &Event<'_>, out: &mut Vec<TurnEvent>) {
        let text = String::from_utf8_lossy(event.data);
        let damaged = matches!(text, std::borrow::Cow::Owned(_));
        self.event(Incoming { name: event.name, text: &text, damaged }, out);
    }

    fn event(&mut self, event: Incoming<'_>, out: &mut Vec<TurnEvent>) {
        let track = self.track();
        if track.is_dead() || event.text.is_empty() {
            return;
        }
        track.events += 1;
        match self {
            Self::Anthropic(stream) => stream.event(event, out),
            Self::OpenAiResponses(stream) => stream.event(event, out),
            Self::OpenAiChat(stream) => stream.event(event, out),
        }
    }
}

impl std::fmt::Debug for TurnReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let provider = match self.state {
            State::Anthropic(_) => Provider::Anthropic,
            State::OpenAiResponses(_) => Provider::OpenAiResponses,
            State::OpenAiChat(_) => Provider::OpenAiChat,
        };
        f.debug_struct("TurnReader").field("provider", &provider).finish_non_exhaustive()
    }
}
