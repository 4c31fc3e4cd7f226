//! What is to be done next.

use serde::{Deserialize, Serialize};
use tollgate::{outcome::RefusalCode, policy::Digest, tool::CallId};

use super::StopReason;
use crate::history::{CallEntry, Kept};

/// What is to be done next.
#[derive(Debug)]
pub enum Step<'a> {
    /// Ask the model, with the history as it stands.
    CallModel {
        /// The number of the turn it will be.
        turn: u32,
    },
    /// The conversation is too long: put old results aside first.
    MakeRoom,
    /// Run the calls that have no answer yet.
    CallTools {
        /// The turn they belong to.
        turn: u32,
        /// All calls of the turn.
        open: &'a [Open],
    },
    /// Calls need a yes that nobody was there to give.
    NeedApproval {
        /// Which.
        missing: Vec<Missing<'a>>,
    },
    /// Nothing to do for so long; without a time, until the person says something.
    Wait {
        /// Milliseconds.
        for_ms: Option<u64>,
    },
    /// The task is over. A new message begins the next one.
    Done {
        /// Why.
        reason: &'a StopReason,
    },
}

/// A call of the turn that is being answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Open {
    /// The call.
    pub call: CallEntry,
    /// Its answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Kept>,
}

/// A call that needs a yes.
#[derive(Debug, Clone, Copy)]
pub struct Missing<'a> {
    /// The call.
    pub call: &'a CallEntry,
    /// What the yes would be bound to, where it is known.
    pub digest: Option<&'a Digest>,
}

impl Open {
    /// True where a person's yes is all that is missing.
    pub(super) fn needs_person(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| code(answer) == Some(RefusalCode::ApprovalRequired))
    }

    pub(super) fn id(&self) -> &CallId {
        &self.call.id
    }
}

pub(super) fn missing(open: &[Open]) -> Vec<Missing<'_>> {
    open.iter()
        .filter(|open| open.needs_person())
        .map(|open| {
            let refusal = open.answer.as_ref().and_then(|answer| answer.refusal());
            Missing { call: &open.call, digest: refusal.and_then(|refusal| refusal.digest.as_ref()) }
        })
        .collect()
}

pub(super) fn code(answer: &Kept) -> Option<RefusalCode> {
    answer.refusal().map(|refusal| refusal.code)
}
