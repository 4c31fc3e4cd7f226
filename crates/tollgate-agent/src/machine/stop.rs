//! Why a task is over: a closed list.

use serde::{Deserialize, Serialize};

use super::{fact::ModelFault, limits::Limit};

/// Why a task is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum StopReason {
    /// The model had said everything.
    Done,
    /// A sub-agent handed in its report.
    Reported,
    /// The model declined to go on.
    Refused {
        /// In its words, or in the provider's.
        why: String,
    },
    /// The provider's filter cut the answer.
    Filtered,
    /// As many turns as there may be for one message.
    TurnLimit {
        /// How many.
        turns: u32,
    },
    /// Calls, time, tokens or money are used up.
    Budget {
        /// Which.
        limit: Limit,
    },
    /// The model proposed the same calls turn after turn.
    Repetition,
    /// Calls wait for a person's yes and nobody is there.
    NeedsPerson {
        /// The tools of the calls that wait.
        tools: Vec<String>,
    },
    /// The person stopped it.
    Interrupted,
    /// The model could not be asked.
    ProviderFailed(ModelFault),
    /// The conversation no longer fits, and nothing in it can be put aside.
    ContextFull,
    /// Answer after answer was cut or could not be used.
    CutShort {
        /// Why, in a sentence.
        why: String,
    },
    /// The session could not be written down, so nothing more was run.
    NotKept {
        /// What went wrong.
        why: String,
    },
}

impl StopReason {
    /// The word for machines.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Reported => "reported",
            Self::Refused { .. } => "refused",
            Self::Filtered => "filtered",
            Self::TurnLimit { .. } => "turn_limit",
            Self::Budget { .. } => "budget",
            Self::Repetition => "repetition",
            Self::NeedsPerson { .. } => "needs_person",
            Self::Interrupted => "interrupted",
            Self::ProviderFailed(_) => "provider_failed",
            Self::ContextFull => "context_full",
            Self::CutShort { .. } => "cut_short",
            Self::NotKept { .. } => "not_kept",
        }
    }

    /// True where the model itself ended the task.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::Reported)
    }

    /// True where the task could go on as it stands, once what stopped it is out of the way.
    pub const fn is_broken_off(&self) -> bool {
        match self {
            Self::TurnLimit { .. }
            | Self::Budget { .. }
            | Self::Interrupted
            | Self::ProviderFailed(_)
            | Self::ContextFull
            | Self::CutShort { .. }
            | Self::NotKept { .. } => true,
            Self::Done
            | Self::Reported
            | Self::Refused { .. }
            | Self::Filtered
            | Self::Repetition
            | Self::NeedsPerson { .. } => false,
        }
    }

    /// A line for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Reported => "the report is in".to_owned(),
            Self::Refused { why } if why.is_empty() => "the model declined to go on".to_owned(),
            Self::Refused { why } => format!("the model declined to go on: {why}"),
            Self::Filtered => "the provider's content filter cut the answer".to_owned(),
            Self::TurnLimit { turns } => {
                format!("stopped after {turns} turns, as many as one message may take")
            }
            Self::Budget { limit } => format!("the budget is used up: {limit}"),
            Self::Repetition => "the model proposed the same calls again and again".to_owned(),
            Self::NeedsPerson { tools } => {
                format!("{} need a person's yes, and nobody is there", tools.join(", "))
            }
            Self::Interrupted => "interrupted".to_owned(),
            Self::ProviderFailed(fault) => fault.message.clone(),
            Self::ContextFull => "the conversation no longer fits into the model's window".to_owned(),
            Self::CutShort { why } => format!("answer after answer was cut: {why}"),
            Self::NotKept { why } => format!("the session could not be written down: {why}"),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::Done | Self::Reported => "say what is next.",
            Self::Refused { .. } | Self::Filtered => "put it differently, or use another model.",
            Self::TurnLimit { .. } => "say `go on`, or raise the turn limit.",
            Self::Budget { .. } => "raise the budget and go on with the session.",
            Self::Repetition => "say what is wrong with the results, or try another model.",
            Self::NeedsPerson { .. } => {
                "answer the questions and go on with the session, or add rules that allow the calls."
            }
            Self::Interrupted => "go on with the session whenever you like.",
            Self::ProviderFailed(fault) => &fault.hint,
            Self::ContextFull => "start a new session, or use a model with a larger window.",
            Self::CutShort { .. } => "allow longer answers, or ask for less at once.",
            Self::NotKept { .. } => "make room on the disk, or choose another folder for sessions.",
        }
    }
}
