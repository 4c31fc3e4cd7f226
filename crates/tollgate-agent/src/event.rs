//! What an agent tells whoever watches: a closed list, through a queue that never slows it.
//!
//! One queue for an agent and all it sends out. Text that nobody has read yet grows in its place, progress replaces
//! progress: what waits is never more than what was said.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use tokio::sync::Notify;
use tollgate::{
    Settled,
    tool::{CallId, RunId},
    wire::Usage,
};

use crate::machine::{Spent, StopReason};
use crate::tools::TodoItem;

/// Something that happened in an agent, or in one it sent out.
#[derive(Debug, Clone, Serialize)]
pub struct AgentEvent {
    /// Whose: the run of the agent. A sub-agent's own begins with [`What::AgentBegan`] in its parent's.
    pub run: RunId,
    /// The name of the sub-agent, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// In which turn of the model.
    pub turn: u32,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// The closed list of what can happen.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// Work on a message begins, or goes on after a break.
    Began {
        /// The model that is asked.
        model: Arc<str>,
        /// Whether an earlier conversation is taken up.
        resumed: bool,
    },
    /// The model is asked.
    TurnBegan,
    /// More of the text.
    Text {
        /// The words.
        text: String,
    },
    /// More of what the model thinks.
    Thinking {
        /// The words.
        text: String,
    },
    /// What was told of this turn so far is void: the answer broke off and is asked for again, or given up.
    Discarded {
        /// Why.
        why: String,
    },
    /// The model is whole with its turn, and this is what it cost.
    Usage {
        /// Tokens of the turn.
        usage: Usage,
        /// Millionths of a dollar of the turn.
        microdollars: u64,
        /// What the run has spent in all.
        total: Spent,
    },
    /// A request failed and is made again.
    RetryWaiting {
        /// Why.
        why: String,
        /// What to do about it, should it go on.
        hint: String,
        /// Until the next attempt.
        delay_ms: u64,
        /// The number of the next attempt.
        attempt: u32,
        /// How many there may be.
        of: u32,
    },
    /// The model proposed a call.
    CallProposed {
        /// Its id.
        id: CallId,
        /// The tool.
        tool: String,
        /// The arguments, as text.
        input: String,
        /// Why the model says it calls this.
        #[serde(skip_serializing_if = "Option::is_none")]
        purpose: Option<Arc<str>>,
    },
    /// A person is asked about a call.
    CallAsked {
        /// Its id.
        id: CallId,
        /// The rule that asks.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<Arc<str>>,
    },
    /// The body of a call begins.
    CallStarted {
        /// Its id.
        id: CallId,
        /// 1 for the first try.
        attempt: u32,
    },
    /// A body says how far it is.
    CallProgress {
        /// Its id.
        id: CallId,
        /// From 0 to 1.
        fraction: f32,
        /// A few words.
        message: String,
    },
    /// A call has its answer.
    CallSettled {
        /// The answer, whole.
        answer: Box<Settled>,
    },
    /// An early answer was thrown away: its turn was cut.
    CallDiscarded {
        /// The call.
        id: CallId,
    },
    /// The model was told something beside the conversation.
    Context {
        /// The words.
        text: String,
        /// Where they come from.
        from: String,
    },
    /// Old results were put aside to make room.
    Compacted {
        /// How many.
        results: usize,
        /// How many characters they had.
        chars: usize,
    },
    /// The history had to be put right.
    Repaired {
        /// What was done.
        notes: Vec<String>,
    },
    /// The list of things to do changed.
    Todo {
        /// The list.
        items: Vec<TodoItem>,
    },
    /// Plan mode began or ended.
    Plan {
        /// Whether it is on.
        on: bool,
    },
    /// A sub-agent was sent out.
    AgentBegan {
        /// Its run.
        child: RunId,
        /// The role it has.
        role: String,
        /// The call that sent it.
        call: CallId,
        /// What it is to do.
        task: String,
    },
    /// A sub-agent came back.
    AgentEnded {
        /// Its run.
        child: RunId,
        /// Why it stopped.
        stop: StopReason,
        /// What it spent.
        spent: Spent,
    },
    /// The person interrupted.
    Interrupting {
        /// True for the second time: everything stops.
        everything: bool,
    },
    /// Something went wrong that is no answer's matter.
    Fault {
        /// In words.
        message: String,
    },
    /// The task is over.
    Stopped {
        /// Why.
        stop: StopReason,
        /// The last text of the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What the run has spent.
        spent: Spent,
    },
}

/// Where an agent tells. Clones tell the same queue; telling never waits.
#[derive(Debug)]
pub struct Teller {
    queue: Arc<Queue>,
}

impl Clone for Teller {
    fn clone(&self) -> Self {
        self.queue.lock().tellers += 1;
        Self { queue: self.queue.clone() }
    }
}

/// Where what was told is read.
#[derive(Debug)]
pub struct Listener {
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    inner: Mutex<Inner>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<AgentEvent>,
    tellers: usize,
    deaf: bool,
}

/// A queue for the events of one agent.
pub fn events() -> (Teller, Listener) {
    let queue = Arc::new(Queue::default());
    queue.lock().tellers = 1;
    (Teller { queue: queue.clone() }, Listener { queue })
}

impl Teller {
    /// Tells of something. Where nobody listens any more, it is gone.
    pub fn tell(&self, event: AgentEvent) {
        let mut inner = self.queue.lock();
        if inner.deaf {
            return;
        }
        if let Some(event) = merged(inner.events.back_mut(), event) {
            inner.events.push_back(event);
        }
        drop(inner);
        self.queue.more.notify_one();
    }
}

/// The event, unless it became part of the one that waits.
fn merged(last: Option<&mut AgentEvent>, event: AgentEvent) -> Option<AgentEvent> {
    let Some(last) = last.filter(|last| last.run == event.run && last.turn == event.turn) else {
        return Some(event);
    };
    match (&mut last.what, &event.what) {
        (What::Text { text }, What::Text { text: more })
        | (What::Thinking { text }, What::Thinking { text: more }) => {
            text.push_str(more);
            None
        }
        (What::CallProgress { id, .. }, What::CallProgress { id: same, .. }) if id == same => {
            last.what = event.what;
            None
        }
        _ => Some(event),
    }
}

impl Listener {
    /// The next event; `None` once nobody is left to tell any.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        loop {
            let more = self.queue.more.notified();
            {
                let mut inner = self.queue.lock();
                if let Some(event) = inner.events.pop_front() {
                    return Some(event);
                }
                if inner.tellers == 0 {
                    return None;
                }
            }
            more.await;
        }
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<AgentEvent> {
        self.queue.lock().events.pop_front()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut inner = self.queue.lock();
        inner.deaf = true;
        inner.events.clear();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.queue.lock().tellers -= 1;
        self.queue.more.notify_one();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
