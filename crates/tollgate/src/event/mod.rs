//! Everything that can happen to a call, as a closed list, told to any number of observers.
//!
//! What happens without waiting is noted in the call ([`trail`]) and handed over in one piece when the call
//! first has to wait, and when it ends. Each observer has a bounded queue of its own ([`queue`]): a slow one
//! misses events, is told how many, and slows nobody.

use std::{sync::Arc, time::Duration};

use serde::Serialize;

use crate::{
    outcome::{Phase, RefusalCode, Status},
    tool::{CallId, Concurrency, RunId},
};

mod ticks;
mod mark;
mod trail;
mod page;
mod queue;

pub(crate) use page::{About, Whom};
pub use queue::{Events, Subscription};
pub(crate) use trail::{Beacon, Steps, Trail};

/// One thing that happened, as an observer sees it.
#[derive(Debug, Clone, Copy, Serialize)]
#[non_exhaustive]
pub struct Event<'a> {
    /// In which run.
    pub run: &'a RunId,
    /// To which call; `None` for what concerns a whole turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<&'a CallId>,
    /// The tool, or the name as proposed where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// How long the step took. A step shorter than reading the clock counts as part of the next one.
    #[serde(serialize_with = "micros", rename = "took_us")]
    pub took: Duration,
    /// What.
    #[serde(flatten)]
    pub what: &'a What,
}

/// An event that is kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventRecord {
    /// In which run.
    pub run: RunId,
    /// To which call.
    pub call: Option<CallId>,
    /// The tool.
    pub tool: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// How long the step took.
    pub took: Duration,
    /// What.
    pub what: What,
}

impl Event<'_> {
    /// A copy to keep.
    pub fn record(&self) -> EventRecord {
        EventRecord {
            run: self.run.clone(),
            call: self.call.cloned(),
            tool: self.tool.map(str::to_owned),
            at_ms: self.at_ms,
            took: self.took,
            what: self.what.clone(),
        }
    }
}

/// The closed list of what can happen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// A batch of a turn begins.
    Batch(Box<BatchBegins>),
    /// The model proposed a call.
    Proposed,
    /// 0: the tool was found.
    Resolved,
    /// 1: the arguments are what the tool asks for.
    Validated {
        /// What may run beside it.
        concurrency: Concurrency,
    },
    /// 2: nothing forbids it and the tool's own rules hold.
    Checked,
    /// 3 and 6: a hook said something other than "pass".
    Hook(Box<HookSaid>),
    /// 3: hooks are done with it.
    Prepared,
    /// 3: a hook rewrote the input; the call begins again.
    Rewritten {
        /// Which round this was.
        round: u32,
    },
    /// 4: a person is asked.
    Asked {
        /// The rule that says so.
        rule: Option<Arc<str>>,
    },
    /// 4: it may run.
    Permitted {
        /// By which rule or person.
        by: Arc<str>,
    },
    /// 5: the body begins.
    Started {
        /// 1 for the first try.
        attempt: u32,
    },
    /// 5: the body says how far it is.
    Progress(Progress),
    /// 5: the body ended.
    Executed {
        /// As what.
        status: Status,
        /// The operator's chain of causes, never shown to the model.
        #[serde(skip_serializing_if = "no_chain")]
        chain: Box<[String]>,
    },
    /// 6: hooks saw the outcome.
    After,
    /// The answer is final.
    Settled {
        /// As what.
        status: Status,
        /// In which phase it ended.
        phase: Phase,
        /// Why it was refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<RefusalCode>,
        /// How often the body was tried.
        attempts: u32,
        /// Whether it shared a batch.
        was_concurrent: bool,
    },
    /// The ledger could not write the end of a call; its answer stands.
    LedgerFault {
        /// What it said.
        message: Arc<str>,
    },
    /// Somebody's code failed where it must not (effects, a check, a permission check); the safe side was taken.
    Fault {
        /// What it said, for the operator.
        message: Arc<str>,
    },
    /// A result could not be kept whole.
    StoreFault {
        /// What it said.
        message: Arc<str>,
    },
    /// An eager result was thrown away because its turn was cut.
    Discarded,
    /// This observer was too slow and missed some.
    Missed {
        /// How many hand-overs.
        count: u64,
    },
}

/// A batch of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchBegins {
    /// Its number in the turn, from 0.
    pub index: usize,
    /// The calls in it.
    pub calls: Vec<CallId>,
}

/// What a hook said or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HookSaid {
    /// The hook.
    pub hook: String,
    /// What it did, or how it failed.
    pub did: String,
}

/// How far a body is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// From 0 to 1.
    pub fraction: f32,
    /// A few words; empty where the executor says that the body begins or ended well.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub message: Box<str>,
}

impl What {
    /// 0.0 and 1.0 come from the executor, whatever the body tells in between.
    pub(crate) fn begins_or_ends(fraction: f32) -> Self {
        Self::Progress(Progress { fraction, message: "".into() })
    }

    pub(crate) fn hook(hook: &str, did: impl Into<String>) -> Self {
        Self::Hook(Box::new(HookSaid { hook: hook.to_owned(), did: did.into() }))
    }
}

fn micros<S: serde::Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(took.div_duration_f64(Duration::from_micros(1)))
}

#[expect(clippy::borrowed_box, reason = "the shape serde asks for")]
fn no_chain(chain: &Box<[String]>) -> bool {
    chain.is_empty()
}
