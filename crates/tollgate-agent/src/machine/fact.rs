//! What the machine is told: everything that happened, in a form that can be kept.

use serde::{Deserialize, Serialize};
use tollgate::{
    tool::CallId,
    wire::{Stop, Usage},
};

use super::limits::{Limit, Limits};
use crate::history::{Aside, Kept, Part, Turn};

/// Something that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// The person said something.
    Said {
        /// Text and pictures.
        parts: Vec<Part>,
    },
    /// The program has something to tell the model. It does not by itself make the model go on.
    Context {
        /// The words.
        text: String,
        /// Where they come from.
        from: String,
    },
    /// The model answered.
    Answered(Box<Answered>),
    /// The model did not answer.
    Failed(ModelFault),
    /// The wait is over.
    Waited,
    /// A call has its answer.
    Settled {
        /// The answer.
        answer: Kept,
    },
    /// The person interrupted: what is open will still be answered, and then the task is over.
    Interrupted,
    /// A person is there now: these calls are put on the path once more.
    AskAgain {
        /// The calls; the others keep the answers they have.
        calls: Vec<CallId>,
    },
    /// No person will come: the calls keep the refusals they have, and the model goes on.
    GoOn,
    /// Results were put aside to make room. Empty where there was nothing to put aside.
    Compacted {
        /// Which, and where they are.
        aside: Vec<Aside>,
    },
    /// Time went by in which the run was at work.
    Worked {
        /// How long.
        ms: u64,
    },
    /// Something beside this conversation was charged to it: the sub-agents it sent out.
    Charged {
        /// Executed calls.
        calls: u64,
        /// Tokens.
        tokens: u64,
        /// Millionths of a dollar.
        microdollars: u64,
    },
    /// A limit that is not the machine's own is reached: the ceiling of whoever sent it out.
    Ceiling {
        /// Which.
        limit: Limit,
    },
    /// Other limits from now on.
    Limits {
        /// The limits.
        limits: Limits,
    },
    /// The conversation is taken up again: a task that was broken off goes on.
    Resumed,
    /// Plan mode begins or ends by the person's own word.
    Plan {
        /// Whether it is on.
        on: bool,
    },
}

/// A model's answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answered {
    /// The turn.
    pub turn: Turn,
    /// Why the model stopped.
    pub stop: Stop,
    /// What is wrong with the turn as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// What it cost, where the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The same in millionths of a dollar, where the price is known.
    #[serde(default)]
    pub microdollars: u64,
}

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFault {
    /// A word for machines, as `overloaded`.
    pub kind: String,
    /// In a line for people.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// What the fault means for the loop.
    pub then: Then,
}

/// What a failed request means for the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "then", rename_all = "snake_case")]
pub enum Then {
    /// Asking again may help, after so long.
    Again {
        /// Milliseconds.
        after_ms: u64,
    },
    /// The conversation is too long.
    TooLong,
    /// It was cancelled here.
    Cancelled,
    /// Asking again will not help.
    GiveUp,
}

/// A fact that does not fit where the conversation stands. It changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fact} does not fit here: {why}")]
pub struct Misplaced {
    /// What came.
    pub fact: &'static str,
    /// What would have been expected.
    pub why: &'static str,
}
