//! From the path to the observers: one bounded queue each, its buffers used over and over.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use arc_swap::ArcSwap;

use super::{
    Event, EventRecord, What,
    mark::Mark,
    page::{Handed, Page, Tag},
};
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
        self.stale || self.page.len() == 0
    }
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
            self.tell_as(&Tag { run: run.clone(), call: call.cloned(), tool: None }, what());
        }
    }

    /// Tells of one thing that happened just now.
    pub(super) fn tell_as(&self, tag: &Tag, what: What) {
        let (began, marks) = (Instant::now(), &[Mark::listed(0)]);
        self.hand_over(&Handed { tag, began, since: 0, marks, by: None, listed: &[what] });
    }

    /// Gives the steps to every observer.
    pub(super) fn hand_over(&self, handed: &Handed<'_>) {
        self.hub.queues.load().iter().for_each(|queue| queue.push(handed));
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
    fn push(&self, handed: &Handed<'_>) {
        let mut filling = lock(&self.filling);
        if std::mem::take(&mut filling.stale) {
            // What the page holds is dropped here, on the side that made it: no memory wanders between threads.
            filling.page.clear();
        }
        if filling.page.len() < self.capacity {
            filling.page.push(handed);
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
        self.reading.each(|tag, at, took, what| see(self.event(tag, at, took, what)));
        if let Some(run) = self.reading.last_run().filter(|_| missed > 0) {
            let tag = Tag { run: run.clone(), call: None, tool: None };
            see(self.event(&tag, Instant::now(), Duration::ZERO, &What::Missed { count: missed }));
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

    fn event<'a>(&self, tag: &'a Tag, at: Instant, took: Duration, what: &'a What) -> Event<'a> {
        let age = at.saturating_duration_since(self.epoch.0);
        let wall = self.epoch.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + age;
        Event {
            run: &tag.run,
            call: tag.call.as_ref(),
            tool: tag.tool.as_deref(),
            at_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            took,
            what,
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
