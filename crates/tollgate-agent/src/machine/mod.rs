//! The loop as a state machine without I/O: facts go in, the next step comes out.
//!
//! ```text
//! Said ─▶ CallModel ─▶ Answered ─▶ CallTools ─▶ Settled… ─▶ CallModel ─▶ … ─▶ Done
//!             │  ▲                     │   ▲
//!             ▼  │                     ▼   │
//!           Wait, MakeRoom          NeedApproval
//! ```
//!
//! It holds the whole conversation and can be written down at every point. The same facts give the same machine, so a
//! session is the list of its facts, and taking one up is applying them again.

mod fact;
mod limits;
mod step;
mod stop;
mod apply;
mod ending;

use serde::{Deserialize, Serialize};
use tollgate::wire::Stop;

pub(crate) use ending::{REPORT, START_WORK};
pub use fact::{Answered, Fact, Misplaced, ModelFault, Then};
pub use limits::{Limit, Limits, Spent};
pub use step::{Missing, Open, Step};
pub use stop::StopReason;

use crate::history::{Entry, History};
use limits::Warnings;
pub(crate) use limits::total;

/// Where a conversation stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Machine {
    history: History,
    phase: Phase,
    limits: Limits,
    spent: Spent,
    /// The number of the model's latest turn in this run.
    turn: u32,
    /// Turns since the person last said something.
    turns_of_task: u32,
    /// Counts changes of the past, as compaction makes them.
    edition: u64,
    /// Only calls that change nothing may run.
    plan: bool,
    /// What came while calls ran, to be said once they are answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queued: Vec<Entry>,
    warned: Warnings,
    streaks: Streaks,
}

/// Things in a row that end a run when they become too many.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Streaks {
    /// Turns that were cut or held nothing that could be answered.
    stumbles: u32,
    /// Turns all of whose calls were refused as repetitions.
    repeats: u32,
    /// Requests that failed.
    failures: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Phase {
    /// Nothing was said yet.
    Waiting,
    /// The model is to be asked.
    Asking {
        /// After so long.
        wait_ms: Option<u64>,
        /// After the conversation was made shorter.
        make_room: bool,
    },
    /// Calls are open.
    Calling {
        open: Vec<Open>,
        /// How the turn ended that holds them.
        stop: Stop,
        interrupted: bool,
    },
    /// Calls wait for a person who was not there.
    Approving { open: Vec<Open>, stop: Stop },
    /// The task is over, for this reason.
    Ended { reason: StopReason },
}

impl Machine {
    /// A machine that waits for the first message.
    pub fn new(limits: Limits) -> Self {
        Self {
            history: History::default(),
            phase: Phase::Waiting,
            limits,
            spent: Spent::default(),
            turn: 0,
            turns_of_task: 0,
            edition: 0,
            plan: false,
            queued: Vec::new(),
            warned: Warnings::default(),
            streaks: Streaks::default(),
        }
    }

    /// The same, in plan mode: only calls that change nothing may run until `start_work` ends well.
    #[must_use]
    pub fn planning(mut self) -> Self {
        self.plan = true;
        self
    }

    /// What is to be done next. Changes nothing.
    pub fn next(&self) -> Step<'_> {
        match &self.phase {
            Phase::Waiting => Step::Wait { for_ms: None },
            Phase::Asking { wait_ms: Some(wait), .. } => Step::Wait { for_ms: Some(*wait) },
            Phase::Asking { make_room: true, .. } => Step::MakeRoom,
            Phase::Asking { .. } => Step::CallModel { turn: self.turn + 1 },
            Phase::Calling { open, .. } => Step::CallTools { turn: self.turn, open },
            Phase::Approving { open, .. } => Step::NeedApproval { missing: step::missing(open) },
            Phase::Ended { reason } => Step::Done { reason },
        }
    }

    /// The conversation.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Grows whenever the past of the history was changed.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// What was spent.
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The number of the model's latest turn.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// The number of the turn that something which happens now belongs to, from 1: the one the model is asked for, or
    /// the latest.
    pub fn turn_under_way(&self) -> u32 {
        match self.phase {
            Phase::Waiting | Phase::Asking { .. } => self.turn + 1,
            Phase::Calling { .. } | Phase::Approving { .. } | Phase::Ended { .. } => self.turn.max(1),
        }
    }

    /// True while only calls that change nothing may run.
    pub fn is_planning(&self) -> bool {
        self.plan
    }

    /// True where messages wait for the calls to be answered.
    pub fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }
}
