//! From the path to the observers: one bounded queue each, its buffers used over and over.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use super::{
    Event, EventRecord, What,
    mark::Mark,
    page::{About, Handed, Page},
    ticks::Anchor,
};
use crate::tool::{CallId, RunId};

/// Where events go. Cheap to clone; costs one load per call while nobody observes.
#[derive(Debug, Clone, Default)]
pub struct Events {
    hub: Arc<Hub>,
}

/// The end that is told. When the last of it is gone, observers hear that nothing will come any more.
#[derive(Debug)]
struct Hub {
    epoch: (Instant, SystemTime),
    line: Arc<Line>,
}

/// What both ends share: one lock for all observers, held for as long as it takes to write a few steps down.
#[derive(Debug, Default)]
struct Line {
    queues: Mutex<Queues>,
    wake: Condvar,
    // Said apart, so that a call nobody observes asks with one load.
    observers: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queues {
    list: Vec<Queue>,
    /// How many there ever were: the next one's number.
    made: u64,
    closed: bool,
}

#[derive(Debug)]
struct Queue {
    number: u64,
    capacity: usize,
    page: Page,
    // The page was read already and comes back to be filled anew.
    stale: bool,
    missed: u64,
    // An observer is woken only if it sleeps, and it sleeps only after a quiet moment.
    asleep: bool,
}

/// One observer's end. Dropping it ends the observation.
#[derive(Debug)]
pub struct Subscription {
    line: Arc<Line>,
    epoch: (Instant, SystemTime),
    number: u64,
    reading: Page,
}

impl Events {
    /// Begins to observe. Up to `capacity` hand-overs wait for a slow observer; what is beyond is counted.
    pub fn subscribe(&self, capacity: usize) -> Subscription {
        let line = self.hub.line.clone();
        let number = line.lock().add(capacity.max(1));
        line.observers.fetch_add(1, Ordering::AcqRel);
        Subscription { line, epoch: self.hub.epoch, number, reading: Page::default() }
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.hub.line.observers.load(Ordering::Acquire) > 0
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
            self.tell_as(About { run, call, tool: None }, what());
        }
    }

    /// Tells of one thing that happened just now.
    pub(super) fn tell_as(&self, about: About<'_>, what: What) {
        let (began, marks) = (Instant::now(), &[Mark::LISTED]);
        let since = Anchor::BEGIN;
        self.hand_over(&Handed { about, began, since, now: 0, marks, by: None, listed: &[what] });
    }

    /// Gives the steps to every observer.
    pub(super) fn hand_over(&self, handed: &Handed<'_>) {
        let mut queues = self.hub.line.lock();
        let asleep = queues.list.iter_mut().fold(false, |asleep, queue| asleep | queue.push(handed));
        // Whoever wakes up wants the lock at once.
        drop(queues);
        if asleep {
            self.hub.line.wake();
        }
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self { epoch: (Instant::now(), SystemTime::now()), line: Arc::default() }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.line.lock().closed = true;
        self.line.wake.notify_all();
    }
}

impl Line {
    #[cold]
    fn wake(&self) {
        self.wake.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
    fn add(&mut self, capacity: usize) -> u64 {
        let number = self.made;
        self.made += 1;
        let page = Page::default();
        self.list.push(Queue { number, capacity, page, stale: false, missed: 0, asleep: false });
        number
    }

    /// The queue of an observer: there from its beginning to its end.
    fn of(&mut self, number: u64) -> Option<&mut Queue> {
        self.list.iter_mut().find(|queue| queue.number == number)
    }
}

impl Queue {
    /// Takes the steps; true when its observer has to be woken.
    fn push(&mut self, handed: &Handed<'_>) -> bool {
        if std::mem::take(&mut self.stale) {
            // What the page holds is dropped here, on the side that made it: no memory wanders between threads.
            self.page.clear();
        }
        if self.page.len() < self.capacity {
            self.page.push(handed);
        } else {
            self.missed += 1;
        }
        std::mem::take(&mut self.asleep)
    }

    fn is_empty(&self) -> bool {
        self.stale || self.page.len() == 0
    }
}

/// How long an observer lingers after its queue ran empty before it sleeps for real.
const LINGER: Duration = Duration::from_millis(1);

impl Subscription {
    /// Hands every event that is there to `see`, in order; false when there was none.
    pub fn drain(&mut self, mut see: impl FnMut(Event<'_>)) -> bool {
        let mut queues = self.line.lock();
        let Some(queue) = queues.of(self.number).filter(|queue| !queue.is_empty()) else { return false };
        std::mem::swap(&mut queue.page, &mut self.reading);
        queue.stale = true;
        let missed = std::mem::take(&mut queue.missed);
        drop(queues);
        self.reading.each(|about, at, took, what| see(self.event(about, at, took, what)));
        if let Some(run) = self.reading.last_run().filter(|_| missed > 0) {
            let about = About { run, call: None, tool: None };
            see(self.event(about, Instant::now(), Duration::ZERO, &What::Missed { count: missed }));
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
            if !self.wait() {
                return;
            }
        }
    }

    /// Sleeps until something is there; false when nothing can come any more.
    fn wait(&self) -> bool {
        let mut queues = self.line.lock();
        loop {
            let closed = queues.closed;
            let Some(queue) = queues.of(self.number) else { return false };
            let empty = queue.is_empty();
            queue.asleep = empty && !closed;
            if !queue.asleep {
                return !empty;
            }
            queues = self.line.wake.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn event<'a>(&self, about: About<'a>, at: Instant, took: Duration, what: &'a What) -> Event<'a> {
        let age = at.saturating_duration_since(self.epoch.0);
        let wall = self.epoch.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + age;
        Event {
            run: about.run,
            call: about.call,
            tool: about.tool.map(|tool| &**tool),
            at_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            took,
            what,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.line.lock().list.retain(|queue| queue.number != self.number);
        self.line.observers.fetch_sub(1, Ordering::AcqRel);
    }
}
