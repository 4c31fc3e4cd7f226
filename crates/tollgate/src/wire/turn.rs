//! A model's turn, whichever provider it came from: its text, its calls, why it stopped.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{call::Proposed, json::shorten};

/// The most calls of one turn that are run; of a turn with more, none is.
pub const MAX_CALLS: usize = 1_000;

/// The longest body of a whole turn that is read.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTurn {
    /// The text, all of it in order.
    pub text: String,
    /// The calls in order. Each gets an answer; those of a cut turn will only be told why they did not run.
    pub calls: Vec<Proposed>,
    /// Why the model stopped.
    pub stop: Stop,
    /// What it cost, where the provider said so.
    pub usage: Option<Usage>,
    /// The turn as it must stand in the history: one message, or for Responses an array of items.
    pub message: Value,
    /// What is wrong with the turn as a whole and belongs to no call.
    pub faults: Vec<String>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had said everything.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// It reached the token limit of the answer.
    MaxTokens,
    /// It wrote one of the stop sequences it was given.
    StopSequence,
    /// A long turn of the provider's own tools was paused; send it back as it is to go on.
    PauseTurn,
    /// It declined to answer.
    Refusal,
    /// The context window is full.
    ContextFull,
    /// The provider's filter cut it.
    ContentFilter,
    /// The provider said that it failed, in the middle of its answer.
    ProviderFailed {
        /// Its word for the error, as `overloaded_error`; its own code where it has both.
        kind: String,
        /// Its sentence about it.
        message: String,
    },
    /// The stream ended before the turn did, or cannot be read.
    Failed(String),
    /// A word this version does not know; taken as a cut.
    Other(String),
}

/// Tokens of one turn. Zero where the provider said nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Read, cached ones included where the provider counts them so.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the prompt cache.
    pub cache_read_tokens: u64,
    /// Written to the prompt cache.
    pub cache_write_tokens: u64,
    /// Spent on thinking, part of the written ones.
    pub reasoning_tokens: u64,
}

/// Why a body is not a turn at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Nothing came.
    #[error("the answer is empty")]
    Empty,
    /// More than is read.
    #[error("the answer has {size} bytes, more than the {limit} that are read")]
    TooLarge {
        /// What came.
        size: usize,
        /// What is read.
        limit: usize,
    },
    /// HTML, plain text, half a JSON.
    #[error("the answer is not JSON ({message}); it begins with: {shown}")]
    NotJson {
        /// What the parser says.
        message: String,
        /// The first characters.
        shown: String,
    },
    /// JSON, but no turn of this provider.
    #[error("this is not a turn in the {provider} format: {message}")]
    NotATurn {
        /// The format that was asked for.
        provider: super::Provider,
        /// What is missing or odd.
        message: String,
    },
    /// JSON, but no turn in the plain form.
    #[error("this is not a turn in the plain form: {message}")]
    NotPlain {
        /// What is missing or odd.
        message: String,
    },
    /// The provider answered with an error of its own.
    #[error("the provider answered {kind}: {message}")]
    Provider {
        /// Its word for the error, as `overloaded_error`.
        kind: String,
        /// Its sentence about it.
        message: String,
    },
}

impl Stop {
    /// True when the turn ended before the model was done: none of its calls may run.
    pub fn is_cut(&self) -> bool {
        match self {
            Self::EndTurn | Self::ToolUse | Self::StopSequence | Self::PauseTurn => false,
            Self::MaxTokens
            | Self::Refusal
            | Self::ContextFull
            | Self::ContentFilter
            | Self::ProviderFailed { .. }
            | Self::Failed(_)
            | Self::Other(_) => true,
        }
    }

    /// Why it stopped, in a word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ContextFull => "context_full",
            Self::ContentFilter => "content_filter",
            Self::ProviderFailed { .. } | Self::Failed(_) => "failed",
            Self::Other(word) => word,
        }
    }

    /// Why it stopped, in a sentence for people and models.
    pub fn reason(&self) -> String {
        match self {
            Self::EndTurn => "The turn is complete.".to_owned(),
            Self::ToolUse => "The turn waits for the results of its calls.".to_owned(),
            Self::MaxTokens => "The turn was cut at the token limit.".to_owned(),
            Self::StopSequence => "The turn ended at a stop sequence.".to_owned(),
            Self::PauseTurn => "The turn was paused by the provider.".to_owned(),
            Self::Refusal => "The model declined to go on.".to_owned(),
            Self::ContextFull => "The turn was cut because the context window is full.".to_owned(),
            Self::ContentFilter => "The turn was cut by the provider's content filter.".to_owned(),
            Self::ProviderFailed { kind, message } => {
                format!("The turn was cut: the provider failed with {kind}: {message}.")
            }
            Self::Failed(why) => format!("The turn was cut: {why}."),
            Self::Other(word) => format!("The turn stopped for a reason that is not known here ({word:?})."),
        }
    }
}

/// What a reader found, before the rules about whole turns are applied.
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) calls: Vec<Proposed>,
    /// `None` where the provider did not say: then the calls decide.
    pub(super) stop: Option<Stop>,
    pub(super) usage: Option<Usage>,
    pub(super) message: Value,
    pub(super) faults: Vec<String>,
}

impl Draft {
    /// Applies what holds for every provider: a cut turn runs nothing, and one that waits for calls has some.
    pub(super) fn finish(mut self) -> ModelTurn {
        let stop = match self.stop.take() {
            // Some servers say "stop" after a turn of calls.
            None | Some(Stop::EndTurn) if !self.calls.is_empty() => Stop::ToolUse,
            None => Stop::EndTurn,
            Some(stop) => stop,
        };
        if stop.is_cut() {
            self.break_all(&format!("{} None of its calls ran.", stop.reason()));
        } else if self.calls.len() > MAX_CALLS {
            let calls = self.calls.len();
            self.break_all(&format!(
                "The turn has {calls} calls, more than the {MAX_CALLS} that are accepted. None of them ran."
            ));
        }
        if stop == Stop::ToolUse && self.calls.is_empty() {
            self.faults.push("The turn stopped to use a tool and holds no call.".to_owned());
        }
        let Self { text, calls, usage, message, faults, .. } = self;
        ModelTurn { text, calls, stop, usage, message, faults }
    }

    /// Answers every call with `protocol_error`; one that already has a reason of its own keeps it.
    pub(super) fn break_all(&mut self, reason: &str) {
        self.change_all(|call| if call.fault().is_some() { call } else { call.broken(reason) });
    }

    /// Answers every call with `invalid_json`.
    pub(super) fn refuse_all(&mut self, reason: &str) {
        self.change_all(|call| call.unreadable(reason));
    }

    fn change_all(&mut self, change: impl Fn(Proposed) -> Proposed) {
        self.calls = std::mem::take(&mut self.calls).into_iter().map(change).collect();
    }
}

impl Usage {
    /// The later of two counts, field by field: streams repeat and complete them.
    pub(super) fn with(self, later: Self) -> Self {
        let pick = |old: u64, new: u64| if new == 0 { old } else { new };
        Self {
            input_tokens: pick(self.input_tokens, later.input_tokens),
            output_tokens: pick(self.output_tokens, later.output_tokens),
            cache_read_tokens: pick(self.cache_read_tokens, later.cache_read_tokens),
            cache_write_tokens: pick(self.cache_write_tokens, later.cache_write_tokens),
            reasoning_tokens: pick(self.reasoning_tokens, later.reasoning_tokens),
        }
    }
}

/// The start of something foreign, fit for a message: short, and with nothing that could move a cursor.
pub(super) fn shown(text: &str) -> String {
    let plain: String = text.trim().chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect();
    shorten(plain.trim(), 80)
}
