//! Everything that can happen to a call, as a closed list, told to any number of observers.
//!
//! What happens without waiting is noted in the call and handed over in one piece when the call first has to
//! wait, and when it ends. Each observer has a bounded queue of its own: a slow one loses events, is told how
//! many, and slows nobody.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use serde::Serialize;

use crate::{
    outcome::{Phase, RefusalCode, Status},
    tool::{CallId, Concurrency, RunId},
};

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// In which run.
    pub run: RunId,
    /// To which call; `None` for what concerns a whole turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The name the call was proposed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// How long the step took.
    #[serde(serialize_with = "micros", rename = "took_us")]
    pub took: Duration,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// The closed list of what can happen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// A batch of a turn begins.
    Batch {
        /// Its number in the turn, from 0.
        index: usize,
        /// The calls in it.
        calls: Vec<CallId>,
    },
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
    /// 3: a hook said something other than "pass".
    Hook {
        /// The hook.
        hook: Arc<str>,
        /// What it did, or how it failed.
        did: Arc<str>,
    },
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
        /// Operator's chain of causes, never shown to the model.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        chain: Vec<String>,
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
    /// Somebody's code failed where it must not (a check, a permission check); the call was refused.
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
        /// How many handovers.
        count: u64,
    },
}

/// How far a body is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// From 0 to 1.
    pub fraction: f64,
    /// A few words.
    pub message: String,
}

/// Where events go. Cheap to clone; costs one load per call while nobody observes.
#[derive(Debug, Clone, Default)]
pub struct Events {
    hub: Arc<Hub>,
}

#[derive(Debug)]
struct Hub {
    epoch: (Instant, SystemTime),
    observers: AtomicUsize,
    queues: Mutex<Vec<Weak<Queue>>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            epoch: (Instant::now(), SystemTime::now()),
            observers: AtomicUsize::new(0),
            queues: Mutex::default(),
        }
    }
}

/// One observer's end. Dropping it ends the observation.
#[derive(Debug)]
pub struct Subscription {
    hub: Weak<Hub>,
    epoch: (Instant, SystemTime),
    queue: Arc<Queue>,
    ready: VecDeque<Event>,
}

#[derive(Debug)]
struct Queue {
    capacity: usize,
    // The sender wakes the observer only if it sleeps, and it sleeps only after a quiet moment.
    asleep: AtomicBool,
    state: Mutex<QueueState>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    chunks: VecDeque<Arc<Chunk>>,
    missed: u64,
    closed: bool,
}

/// The steps of one call that were noted since the last hand-over.
#[derive(Debug)]
struct Chunk {
    tag: Arc<Tag>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Tag {
    run: RunId,
    call: Option<CallId>,
    tool: Option<Arc<str>>,
}

#[derive(Debug)]
struct Step {
    at: Instant,
    took: Duration,
    what: What,
}

impl Events {
    /// Begins to observe. Up to `capacity` hand-overs wait for a slow observer; what is beyond is counted.
    pub fn subscribe(&self, capacity: usize) -> Subscription {
        let queue = Arc::new(Queue {
            capacity: capacity.max(1),
            asleep: AtomicBool::new(false),
            state: Mutex::default(),
            wake: Condvar::new(),
        });
        lock(&self.hub.queues).push(Arc::downgrade(&queue));
        self.hub.observers.fetch_add(1, Ordering::AcqRel);
        Subscription { hub: Arc::downgrade(&self.hub), epoch: self.hub.epoch, queue, ready: VecDeque::new() }
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.hub.observers.load(Ordering::Acquire) > 0
    }

    /// Tells of something that concerns a whole turn.
    pub(crate) fn tell_with(&self, run: &RunId, what: impl FnOnce() -> What) {
        self.tell(run, None, what);
    }

    /// Tells of something that concerns one call and happens beside its path.
    pub(crate) fn tell_of(&self, run: &RunId, call: &CallId, what: impl FnOnce() -> What) {
        self.tell(run, Some(call), what);
    }

    fn tell(&self, run: &RunId, call: Option<&CallId>, what: impl FnOnce() -> What) {
        if self.is_observed() {
            let tag = Arc::new(Tag { run: run.clone(), call: call.cloned(), tool: None });
            let step = Step { at: Instant::now(), took: Duration::ZERO, what: what() };
            self.hub.hand_over(Chunk { tag, steps: vec![step] });
        }
    }
}

impl Hub {
    fn hand_over(&self, chunk: Chunk) {
        let chunk = Arc::new(chunk);
        for queue in lock(&self.queues).iter().filter_map(Weak::upgrade) {
            queue.push(chunk.clone());
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        for queue in lock(&self.queues).iter().filter_map(Weak::upgrade) {
            lock(&queue.state).closed = true;
            queue.wake.notify_all();
        }
    }
}

impl Queue {
    fn push(&self, chunk: Arc<Chunk>) {
        let mut state = lock(&self.state);
        if state.chunks.len() < self.capacity {
            state.chunks.push_back(chunk);
        } else {
            state.missed += 1;
        }
        drop(state);
        if self.asleep.load(Ordering::Acquire) {
            self.wake.notify_one();
        }
    }
}

/// How long an observer lingers after its queue ran empty before it sleeps for real.
const LINGER: Duration = Duration::from_millis(1);

impl Subscription {
    /// The next event that is already there.
    pub fn try_next(&mut self) -> Option<Event> {
        if self.ready.is_empty() {
            let mut state = lock(&self.queue.state);
            let (chunks, missed) = (std::mem::take(&mut state.chunks), std::mem::take(&mut state.missed));
            drop(state);
            self.unpack(chunks, missed);
        }
        self.ready.pop_front()
    }

    /// Waits for the next event, blocking the thread; `None` when nothing can come any more.
    pub fn next_blocking(&mut self) -> Option<Event> {
        if let Some(event) = self.try_next() {
            return Some(event);
        }
        std::thread::sleep(LINGER);
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            let mut state = lock(&self.queue.state);
            if state.closed && state.chunks.is_empty() {
                return None;
            }
            self.queue.asleep.store(true, Ordering::Release);
            while state.chunks.is_empty() && !state.closed {
                state = self.queue.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            self.queue.asleep.store(false, Ordering::Release);
        }
    }

    fn unpack(&mut self, chunks: VecDeque<Arc<Chunk>>, missed: u64) {
        let at_ms = |at: Instant| {
            let since = at.saturating_duration_since(self.epoch.0);
            let wall = self.epoch.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + since;
            u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)
        };
        let mut last = None;
        for chunk in chunks {
            let Tag { run, call, tool } = &*chunk.tag;
            self.ready.extend(chunk.steps.iter().map(|step| Event {
                run: run.clone(),
                call: call.clone(),
                tool: tool.clone(),
                at_ms: at_ms(step.at),
                took: step.took,
                what: step.what.clone(),
            }));
            last = Some(chunk.tag.clone());
        }
        if missed > 0
            && let Some(tag) = last
        {
            self.ready.push_back(Event {
                run: tag.run.clone(),
                call: None,
                tool: None,
                at_ms: at_ms(Instant::now()),
                took: Duration::ZERO,
                what: What::Missed { count: missed },
            });
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            let mut queues = lock(&hub.queues);
            queues.retain(|queue| {
                queue.strong_count() > 0 && !std::ptr::eq(queue.as_ptr(), &raw const *self.queue)
            });
            hub.observers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// The steps of one call, noted as it walks. Does nothing, and reads no clock, while nobody observes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trail {
    noted: Option<Arc<Noted>>,
}

#[derive(Debug)]
struct Noted {
    hub: Arc<Hub>,
    tag: Arc<Tag>,
    steps: Mutex<(Instant, Vec<Step>)>,
}

// A call that is dropped on its way still tells how far it came.
impl Drop for Noted {
    fn drop(&mut self) {
        let steps = std::mem::take(&mut lock(&self.steps).1);
        if !steps.is_empty() {
            self.hub.hand_over(Chunk { tag: self.tag.clone(), steps });
        }
    }
}

/// The steps of a call that is not rewritten, retried or asked about.
const USUAL_STEPS: usize = 9;

impl Trail {
    pub(crate) fn begin(events: &Events, run: &RunId, call: &CallId, tool: &str, at: Instant) -> Self {
        if !events.is_observed() {
            return Self::default();
        }
        let tag = Arc::new(Tag { run: run.clone(), call: Some(call.clone()), tool: Some(tool.into()) });
        let mut steps = Vec::with_capacity(USUAL_STEPS);
        steps.push(Step { at, took: Duration::ZERO, what: What::Proposed });
        Self { noted: Some(Arc::new(Noted { hub: events.hub.clone(), tag, steps: Mutex::new((at, steps)) })) }
    }

    /// Notes a step; it took as long as it is since the last one.
    pub(crate) fn note(&self, what: impl FnOnce() -> What) {
        if let Some(noted) = &self.noted {
            let at = Instant::now();
            let mut steps = lock(&noted.steps);
            let took = at.saturating_duration_since(steps.0);
            steps.0 = at;
            steps.1.push(Step { at, took, what: what() });
        }
    }

    /// Notes a step that follows the last one without a gap: no clock is read for it.
    pub(crate) fn note_again(&self, what: impl FnOnce() -> What) {
        if let Some(noted) = &self.noted {
            let mut steps = lock(&noted.steps);
            let at = steps.0;
            steps.1.push(Step { at, took: Duration::ZERO, what: what() });
        }
    }

    pub(crate) fn progress(&self, progress: Progress) {
        self.note(|| What::Progress(progress));
        self.flush();
    }

    /// Hands over what was noted.
    pub(crate) fn flush(&self) {
        if let Some(noted) = &self.noted {
            let steps = std::mem::take(&mut lock(&noted.steps).1);
            if !steps.is_empty() {
                noted.hub.hand_over(Chunk { tag: noted.tag.clone(), steps });
            }
        }
    }

    /// When the last step was noted; saves a clock read where one was just made.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.noted.as_ref().map(|noted| lock(&noted.steps).0)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn micros<S: serde::Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
}
