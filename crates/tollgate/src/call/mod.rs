//! One call on its way: `Call<S>` carries what it has earned so far.
//!
//! Each phase is one file with one consuming method and the state it earns. A state's fields are private to
//! its file and the ones after it, so skipping a phase, forging a permit or running a body twice does not
//! compile.

use std::{sync::Arc, time::Instant};

use crate::{
    event::{Steps, Trail},
    guard::{CallRecord, InputRecord, Place, Probe, Ticket},
    outcome::{Phase, Refusal, Settled, Trust},
    policy::RuleRef,
    tool::{CallId, Cx, IdempotencyKey, Scope},
};

mod errand;
mod lane;
mod soon;
mod proposed;
mod resolve;
mod validate;
mod check;
mod before;
mod permit;
mod execute;
mod after;
mod settle;

pub use after::Finished;
pub use before::{MAX_REWRITES, Passed, Prepared};
pub use check::Checked;
use errand::{Awaited, Held, Ran};
pub(crate) use errand::{Errand, Sent};
use execute::OpenClaim;
pub(crate) use execute::Started;
pub(crate) use execute::UNFINISHED;
pub use execute::{Executed, Guards};
pub(crate) use lane::{Batch, Lane};
pub use permit::{Permit, Permitted};
use proposed::Written;
pub use proposed::{Proposed, RawInput};
pub use resolve::Resolved;
pub(crate) use settle::Husk;
pub use settle::Records;
pub use soon::Soon;
pub(crate) use soon::soon;
pub(crate) use validate::Accepted;
pub use validate::{Invocation, MAX_INPUT_BYTES, Validated};

/// A proposed call in the state `S`.
#[must_use = "every call is answered: walk it to its end"]
pub struct Call<S: State> {
    // Boxed: a call moves through every phase, and a pointer moves faster than all it stands for.
    base: Box<Base>,
    state: S::Carried,
}

/// A state that a call can be in. Most of what was learned on the way there lies in the call's box.
pub trait State: sealed::State {
    /// What the call has in its hands beside that, or the proof that it came there.
    type Carried;
}

mod sealed {
    pub trait State {}
}

macro_rules! states {
    ($($state:ty => $carried:ty),* $(,)?) => {$(
        impl sealed::State for $state {}
        impl State for $state {
            type Carried = $carried;
        }
    )*};
}

states! {
    Proposed => (),
    Resolved<'_> => Self,
    Validated => Self,
    Checked => Self,
    Prepared => Self,
    Permitted => Self,
    Started => Self,
    Executed => Self,
    Finished => Self,
}

/// What a call carries whatever its state.
struct Base {
    errand: Held,
    written: Written,
    position: usize,
    trail: Trail,
    began: Instant,
    // How often hooks rewrote it. From the first time on its arguments stand for themselves: references are resolved.
    rounds: u32,
    // What references brought in. It only ever gets worse: a rewrite does not make doubtful content trustworthy.
    trust: Trust,
    rare: Option<Box<Rare>>,
    // What the phases learn. It stays here, where it was written: a call that moves on is one pointer, and its type
    // says which of these are there.
    // Its place in the workspace, from phase 5 on, while its body does not have it.
    place: Option<Place>,
    permit: Option<Permit>,
    by: Option<RuleRef>,
    // What its body came to, until it is made an answer of.
    ran: Option<Ran>,
}

/// What few calls have. Together, so that the others are made and dropped without a look at each.
#[derive(Default)]
struct Rare {
    key: Option<IdempotencyKey>,
    purpose: Option<Arc<str>>,
    context: Vec<String>,
    // The ledger's name for a call that needs a claim.
    ticket: Option<Ticket>,
    probe: Option<Box<Probe>>,
    claim: Option<OpenClaim>,
    // What it was answered before: it does not run.
    answered: Option<Settled>,
}

impl Rare {
    #[cold]
    fn take_context(&mut self) -> Vec<String> {
        std::mem::take(&mut self.context)
    }
}

/// A call that was stopped before it ran, with the reason. It still has to be settled.
#[must_use = "a refused call is answered too: settle it"]
pub struct Refused(Box<Stopped>);

struct Stopped {
    base: Box<Base>,
    tool: Arc<str>,
    phase: Phase,
    refusal: Refusal,
    // What the model wrote, where nobody accepted it.
    asked: Option<RawInput>,
}

impl<S: State> Call<S> {
    /// The call's own id.
    pub fn id(&self) -> &CallId {
        self.base.cx().call_id()
    }

    pub(crate) fn lane(&mut self, lane: Lane) {
        if let Some(errand) = self.base.errand.own() {
            errand.cx.enter(lane);
        }
    }

    /// Its turn among the others of its batch has come.
    pub(crate) fn waited(&mut self) {
        self.base.steps().note_waited();
    }
}

impl Base {
    fn cx(&self) -> &Cx {
        self.errand.cx()
    }

    fn key(&self) -> Option<&IdempotencyKey> {
        self.rare.as_ref().and_then(|rare| rare.key.as_ref())
    }

    fn ticket(&self) -> Option<Ticket> {
        self.rare.as_ref().and_then(|rare| rare.ticket)
    }

    #[cold]
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// What hooks and the ledger want the model to know.
    fn take_context(&mut self) -> Vec<String> {
        match &mut self.rare {
            Some(rare) => rare.take_context(),
            None => Vec::new(),
        }
    }

    fn scope(&self) -> &Arc<Scope> {
        self.errand.cx.scope()
    }

    fn invocation(&self) -> &Invocation {
        self.errand.invocation()
    }

    /// The trail, and whom its steps are about.
    fn steps(&mut self) -> Steps<'_> {
        let by = self.by.as_ref().or(self.permit.as_ref().map(Permit::rule));
        self.trail.about(&self.errand, by)
    }

    /// Makes room in the workspace, where the call holds a place.
    fn leave(&mut self) {
        if let Some(place) = self.place.take() {
            self.scope().workspace.leave(place);
        }
    }

    #[cold]
    fn refuse(mut self: Box<Self>, phase: Phase, refusal: Refusal) -> Refused {
        // Whoever would have tried a breaker makes room for the next one at once, not when its end is written. So does
        // whoever has a place.
        if let Some(rare) = &mut self.rare {
            rare.probe = None;
        }
        self.leave();
        let tool = self.invocation().tool.label.clone();
        Refused(Box::new(Stopped { base: self, tool, phase, refusal, asked: None }))
    }

    #[cold]
    fn refuse_text(mut self: Box<Self>, tool: Arc<str>, phase: Phase, refusal: Refusal) -> Refused {
        if let Some(errand) = self.errand.own() {
            errand.name = Some(tool.clone());
        }
        let asked = Some(std::mem::take(&mut self.written.text));
        Refused(Box::new(Stopped { base: self, tool, phase, refusal, asked }))
    }

    /// The call as the ledger writes it down.
    fn record_of<'a>(&'a self, id: &'a CallId, tool: &'a str, text: Option<&'a RawInput>) -> CallRecord<'a> {
        let (input, effects) = match text {
            Some(text) => (InputRecord::Text(text.as_str()), None),
            None => {
                let invocation = self.invocation();
                (InputRecord::Args(&invocation.args), Some(&invocation.effects))
            }
        };
        CallRecord {
            scope: self.scope(),
            id,
            position: self.position,
            began: self.began,
            tool,
            key: self.key(),
            purpose: self.rare.as_ref().and_then(|rare| rare.purpose.as_deref()),
            input,
            effects,
        }
    }
}

// A call that is dropped on its way lets its body go, makes room for others, and still tells how far it came.
impl Drop for Base {
    fn drop(&mut self) {
        self.errand.let_go();
        self.leave();
        self.steps().flush();
    }
}

impl Call<Validated> {
    /// Stops a call that is not to start any more.
    pub(crate) fn cancel(self) -> Refused {
        self.base.refuse(Phase::Check, execute::cancelled())
    }
}

impl Refused {
    /// The call's own id.
    pub fn id(&self) -> &CallId {
        self.0.base.cx().call_id()
    }

    /// Why.
    pub fn refusal(&self) -> &Refusal {
        &self.0.refusal
    }

    /// The tool as resolved, or the name as proposed.
    pub fn tool(&self) -> &Arc<str> {
        &self.0.tool
    }

    /// In which phase.
    pub fn phase(&self) -> Phase {
        self.0.phase
    }
}

impl<S: State> std::fmt::Debug for Call<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = std::any::type_name::<S>().rsplit("::").next();
        f.debug_struct("Call").field("id", self.id()).field("state", &state).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Refused")
            .field("id", self.id())
            .field("refusal", self.refusal())
            .finish_non_exhaustive()
    }
}
