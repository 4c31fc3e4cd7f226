//! From the path to the observers: one bounded queue each, its buffers used over and over.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use arc_swap::ArcSwap;

use super::{Event, EventRecord, What};
use crate::tool::{CallId, RunId};

/// Where events go. Cheap to clone; costs one load per call while nobody observes.
#[derive(Debug, Clone, Default)]
pub struct Events {
    hub: Arc<Hub>,
}

#[derive(Debug)]
struct Hub {
    epoch: (Instant, SystemTime),
    queues: ArcSwap<Vec<Arc<Queue>>>,
    // Said apart, so that a call nobody observes asks with one load.
    observers: AtomicUsize,
}

/// Whom a step is about.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) run: RunId,
    pub(super) call: Option<CallId>,
    pub(super) tool: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) at: Instant,
    pub(super) what: What,
}

#[derive(Debug)]
struct Queue {
    capacity: usize,
    // The sender wakes the observer only if it sleeps, and it sleeps only after a quiet moment.
    asleep: AtomicBool,
    filling: Mutex<Filling>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Filling {
    page: Page,
    // The page was read already and comes back to be filled anew.
    stale: bool,
    missed: u64,
    closed: bool,
}

impl Filling {
    fn is_empty(&self) -> bool {
        self.stale || self.page.heads.is_empty()
    }
}

/// Steps in order, and for each hand-over whom its steps are about.
#[derive(Debug, Default)]
struct Page {
    heads: Vec<Head>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Head {
    tag: Tag,
    // When the step before the first one here ended.
    since: Instant,
    steps: usize,
}

/// One observer's end. Dropping it ends the observation.
#[derive(Debug)]
pub struct Subscription {
    hub: Weak<Hub>,
    epoch: (Instant, SystemTime),
    queue: Arc<Queue>,
    reading: Page,
}

impl Events {
    /// Begins to observe. Up to `capacity` hand-overs wait for a slow observer; what is beyond is counted.
    pub fn subscribe(&self, capacity: usize) -> Subscription {
        let queue = Arc::new(Queue {
            capacity: capacity.max(1),
            asleep: AtomicBool::new(false),
            filling: Mutex::default(),
            wake: Condvar::new(),
        });
        self.hub.queues.rcu(|queues| queues.iter().chain([&queue]).cloned().collect::<Vec<_>>());
        self.hub.observers.fetch_add(1, Ordering::AcqRel);
        Subscription {
            hub: Arc::downgrade(&self.hub),
            epoch: self.hub.epoch,
            queue,
            reading: Page::default(),
        }
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
            let tag = Tag { run: run.clone(), call: call.cloned(), tool: None };
            let at = Instant::now();
            self.hand_over(tag, at, &mut vec![Step { at, what: what() }]);
        }
    }

    /// Gives the steps to every observer and leaves the list empty.
    pub(super) fn hand_over(&self, tag: Tag, since: Instant, steps: &mut Vec<Step>) {
        let queues = self.hub.queues.load();
        if let Some((last, others)) = queues.split_last() {
            others.iter().for_each(|queue| queue.push(tag.clone(), since, &mut steps.clone()));
            last.push(tag, since, steps);
        }
        steps.clear();
    }
}

impl Default for Hub {
    fn default() -> Self {
        let epoch = (Instant::now(), SystemTime::now());
        Self { epoch, observers: AtomicUsize::new(0), queues: ArcSwap::default() }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        for queue in self.queues.load().iter() {
            lock(&queue.filling).closed = true;
            queue.wake.notify_all();
        }
    }
}

impl Queue {
    fn push(&self, tag: Tag, since: Instant, steps: &mut Vec<Step>) {
        let mut filling = lock(&self.filling);
        if std::mem::take(&mut filling.stale) {
            // What the page holds is dropped here, on the side that made it: no memory wanders between threads.
            filling.page.heads.clear();
            filling.page.steps.clear();
        }
        if filling.page.heads.len() < self.capacity {
            filling.page.heads.push(Head { tag, since, steps: steps.len() });
            filling.page.steps.append(steps);
        } else {
            filling.missed += 1;
        }
        drop(filling);
        if self.asleep.load(Ordering::Acquire) {
            self.wake.notify_one();
        }
    }
}

/// How long an observer lingers after its queue ran empty before it sleeps for real.
const LINGER: Duration = Duration::from_millis(1);

impl Subscription {
    /// Hands every event that is there to `see`, in order; false when there was none.
    pub fn drain(&mut self, mut see: impl FnMut(Event<'_>)) -> bool {
        let mut filling = lock(&self.queue.filling);
        if filling.is_empty() {
            return false;
        }
        std::mem::swap(&mut filling.page, &mut self.reading);
        filling.stale = true;
        let missed = std::mem::take(&mut filling.missed);
        drop(filling);
        let mut steps = self.reading.steps.iter();
        for head in &self.reading.heads {
            let mut since = head.since;
            for step in steps.by_ref().take(head.steps) {
                see(self.event(&head.tag, since, step));
                since = step.at;
            }
        }
        if let Some(head) = self.reading.heads.last().filter(|_| missed > 0) {
            let tag = Tag { run: head.tag.run.clone(), call: None, tool: None };
            let at = Instant::now();
            see(self.event(&tag, at, &Step { at, what: What::Missed { count: missed } }));
        }
        true
    }

    /// A copy of every event that is there.
    pub fn records(&mut self) -> Vec<EventRecord> {
        let mut records = Vec::new();
        while self.drain(|event| records.push(event.record())) {}
        records
    }

    /// Hands every event to `see` until nothing can come any more. Blocks its thread: give it one of its own.
    pub fn for_each(mut self, mut see: impl FnMut(Event<'_>)) {
        loop {
            if self.drain(&mut see) {
                std::thread::sleep(LINGER);
                continue;
            }
            let mut filling = lock(&self.queue.filling);
            self.queue.asleep.store(true, Ordering::Release);
            while filling.is_empty() && !filling.closed {
                filling = self.queue.wake.wait(filling).unwrap_or_else(PoisonError::into_inner);
            }
            self.queue.asleep.store(false, Ordering::Release);
            if filling.is_empty() {
                return;
            }
        }
    }

    fn event<'a>(&self, tag: &'a Tag, since: Instant, step: &'a Step) -> Event<'a> {
        let age = step.at.saturating_duration_since(self.epoch.0);
        let wall = self.epoch.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + age;
        Event {
            run: &tag.run,
            call: tag.call.as_ref(),
            tool: tag.tool.as_deref(),
            at_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            took: step.at.saturating_duration_since(since),
            what: &step.what,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            let others = |queue: &&Arc<Queue>| !Arc::ptr_eq(queue, &self.queue);
            hub.queues.rcu(|queues| queues.iter().filter(others).cloned().collect::<Vec<_>>());
            hub.observers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
