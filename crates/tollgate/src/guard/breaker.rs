//! Stops calling what keeps failing: per tool, capability, server and route; closed, open, half-open.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use tokio::time::Instant;

use super::{contained::caught, deadline::later};
use crate::{
    outcome::{Refusal, RefusalCode},
    tool::{Origin, Route, Scope, ToolSpec},
};

/// What a breaker is counted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BreakerKey {
    /// One tool.
    Tool(Arc<str>),
    /// Every tool of a capability.
    Capability(Arc<str>),
    /// Every tool of a server.
    Server(Arc<str>),
    /// Everything on a route.
    Route(Route),
}

/// When a breaker opens and when it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Consecutive failures of the other side that open it: retryable and unknown ones, panics and deadlines. A fatal
    /// failure, which is what `?` makes of any error, speaks of the call and not of the other side; where that is down,
    /// return [`Failure::retryable`](crate::Failure::retryable).
    pub failures: u32,
    /// How long it stays open before one call is let through to try.
    pub cooldown: Duration,
}

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Calls pass.
    Closed,
    /// Calls are refused.
    Open,
    /// One call is trying; the others are refused.
    HalfOpen,
}

/// One breaker, as people look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    /// What it is counted by.
    pub key: BreakerKey,
    /// Where it stands.
    pub state: BreakerState,
    /// Consecutive failures.
    pub failures: u32,
    /// Until it is tried again.
    pub retry_after: Option<Duration>,
}

/// All breakers. Only keys that failed lately take room.
pub struct Breakers {
    settings: BreakerSettings,
    // The healthy path is one load: nothing is locked while nothing fails.
    watched: AtomicUsize,
    cells: Mutex<HashMap<BreakerKey, Cell>>,
    book: Option<Arc<dyn BreakerBook>>,
    /// What the book's changes were when it was last taken over.
    seen: AtomicU64,
}

/// Where breakers are kept beyond this process, so that others see them and a new one begins with them.
///
/// It is told and asked; it decides nothing, and what fails in it stops no call.
pub trait BreakerBook: Send + Sync + 'static {
    /// How breakers stand there; those that are closed and clean are left out. May block for a moment.
    fn load(&self) -> Vec<Breaker>;

    /// How one stands now; `None`: closed and clean. Waits for nothing.
    fn note(&self, key: &BreakerKey, stands: Option<&Breaker>);

    /// A number that grows when somebody else has changed the book, and `load` then waits for nothing. Asked before
    /// every call.
    fn changes(&self) -> u64 {
        0
    }
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    failures: u32,
    opened: Option<Opened>,
}

#[derive(Debug, Clone, Copy)]
struct Opened {
    until: Option<Instant>,
    trying: bool,
}

/// How a call ended, as breakers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// The other side works, whatever it thought of the arguments.
    Well,
    /// The other side failed.
    Sick,
    /// It was stopped from our side, which says nothing of the other.
    Untold,
}

/// A call that was let through. While a breaker is half-open it is the one that tries.
#[must_use]
#[derive(Debug)]
pub(crate) struct Probe {
    breakers: Arc<Breakers>,
    trying: Vec<BreakerKey>,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 5, cooldown: Duration::from_secs(30) }
    }
}

impl Breakers {
    /// Breakers with these settings, all closed.
    pub fn new(settings: BreakerSettings) -> Self {
        Self {
            settings,
            watched: AtomicUsize::new(0),
            cells: Mutex::default(),
            book: None,
            seen: AtomicU64::new(0),
        }
    }

    /// The same, begun with what the book says, and kept there.
    #[must_use]
    pub fn kept_in(mut self, book: Arc<dyn BreakerBook>) -> Self {
        self.book = Some(book);
        self.refresh();
        self
    }

    /// Takes over how the book says that breakers stand: other processes, or a person, may have changed them.
    pub fn refresh(&self) {
        let Some(book) = &self.book else { return };
        // A book that fails says nothing new.
        let Ok((changes, breakers)) = caught(|| (book.changes(), book.load())) else { return };
        self.seen.store(changes, Ordering::Release);
        let now = Instant::now();
        let known = breakers.into_iter().map(|breaker| {
            let opened = (breaker.state != BreakerState::Closed)
                .then(|| Opened { until: breaker.retry_after.map(|wait| later(now, wait)), trying: false });
            (breaker.key, Cell { failures: breaker.failures, opened })
        });
        let mut known: HashMap<_, _> = known.collect();
        let mut cells = self.lock();
        for (key, cell) in &*cells {
            // A call that tries here goes on trying.
            let trying = cell.opened.is_some_and(|opened| opened.trying);
            if let Some(opened) = known.get_mut(key).and_then(|cell: &mut Cell| cell.opened.as_mut()) {
                opened.trying = trying;
            }
        }
        *cells = known;
        self.watched.store(cells.len(), Ordering::Release);
    }

    /// Every breaker that is not simply closed and clean.
    pub fn list(&self) -> Vec<Breaker> {
        let now = Instant::now();
        let mut list: Vec<_> = self.lock().iter().map(|(key, cell)| cell.show(key.clone(), now)).collect();
        list.sort_by(|a, b| a.key.cmp(&b.key));
        list
    }

    /// Opens a breaker by hand; it stays open until it is reset.
    pub fn open(&self, key: BreakerKey) {
        let mut cells = self.lock();
        let cell = Cell { failures: 0, opened: Some(Opened { until: None, trying: false }) };
        self.note(&key, Some(&cell));
        cells.insert(key, cell);
        self.watched.store(cells.len(), Ordering::Release);
    }

    /// Closes a breaker and forgets its failures.
    pub fn reset(&self, key: &BreakerKey) {
        let mut cells = self.lock();
        cells.remove(key);
        self.note(key, None);
        self.watched.store(cells.len(), Ordering::Release);
    }

    fn note(&self, key: &BreakerKey, cell: Option<&Cell>) {
        if let Some(book) = &self.book {
            let breaker = cell.map(|cell| cell.show(key.clone(), Instant::now()));
            // How the call ended is known, and a book that fails does not take that back.
            let _ = caught(|| book.note(key, breaker.as_ref()));
        }
    }

    /// Lets a call through, or says when to come back.
    pub(crate) fn admit(
        self: &Arc<Self>,
        spec: &ToolSpec,
        scope: &Scope,
    ) -> Result<Option<Box<Probe>>, Refusal> {
        if self.book.is_some() {
            self.take_over();
        }
        if self.watched.load(Ordering::Acquire) == 0 {
            return Ok(None);
        }
        self.admit_watched(spec, scope)
    }

    /// Takes over what others have changed in the book, where they have.
    #[inline(never)]
    fn take_over(&self) {
        let Some(book) = &self.book else { return };
        if caught(|| book.changes()).is_ok_and(|changes| changes != self.seen.load(Ordering::Acquire)) {
            self.refresh();
        }
    }

    #[cold]
    fn admit_watched(
        self: &Arc<Self>,
        spec: &ToolSpec,
        scope: &Scope,
    ) -> Result<Option<Box<Probe>>, Refusal> {
        let now = Instant::now();
        let mut cells = self.lock();
        let keys = keys_of(spec, scope);
        if let Some(key) = keys.iter().find(|key| cells.get(key).is_some_and(|cell| !cell.lets_through(now)))
        {
            let wait = cells.get(key).and_then(|cell| cell.show(key.clone(), now).retry_after);
            return Err(refusal(key, wait));
        }
        let mut trying = Vec::new();
        for key in keys {
            if let Some(opened) = cells.get_mut(&key).and_then(|cell| cell.opened.as_mut()) {
                opened.trying = true;
                trying.push(key);
            }
        }
        Ok((!trying.is_empty()).then(|| Box::new(Probe { breakers: self.clone(), trying })))
    }

    /// Counts how a call ended.
    pub(crate) fn record(&self, spec: &ToolSpec, scope: &Scope, health: Health) {
        let quiet = health == Health::Well && self.watched.load(Ordering::Acquire) == 0;
        if !quiet && health != Health::Untold {
            self.count(spec, scope, health);
        }
    }

    #[cold]
    fn count(&self, spec: &ToolSpec, scope: &Scope, health: Health) {
        let mut cells = self.lock();
        for key in keys_of(spec, scope) {
            // A breaker opened by hand is closed by hand.
            if cells.get(&key).and_then(|cell| cell.opened).is_some_and(|opened| opened.until.is_none()) {
                continue;
            }
            match health {
                Health::Untold => {}
                Health::Well => {
                    if cells.remove(&key).is_some() {
                        self.note(&key, None);
                    }
                }
                Health::Sick => {
                    let cell = cells.entry(key.clone()).or_insert(Cell { failures: 0, opened: None });
                    cell.failures += 1;
                    if cell.failures >= self.settings.failures || cell.opened.is_some() {
                        let until = Some(later(Instant::now(), self.settings.cooldown));
                        cell.opened = Some(Opened { until, trying: false });
                    }
                    self.note(&key, Some(cell));
                }
            }
        }
        self.watched.store(cells.len(), Ordering::Release);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<BreakerKey, Cell>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Breakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breakers").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Cell {
    fn lets_through(&self, now: Instant) -> bool {
        match self.opened {
            None => true,
            Some(opened) => !opened.trying && opened.until.is_some_and(|until| now >= until),
        }
    }

    fn show(&self, key: BreakerKey, now: Instant) -> Breaker {
        let state = match self.opened {
            None => BreakerState::Closed,
            Some(opened) if opened.trying || opened.until.is_some_and(|until| now >= until) => {
                BreakerState::HalfOpen
            }
            Some(_) => BreakerState::Open,
        };
        let retry_after = self.opened.and_then(|o| o.until).map(|until| until.saturating_duration_since(now));
        Breaker { key, state, failures: self.failures, retry_after }
    }
}

// A trial that never came to an end (refused later, cancelled) makes room for the next one.
impl Drop for Probe {
    fn drop(&mut self) {
        let mut cells = self.breakers.lock();
        for key in &self.trying {
            if let Some(opened) = cells.get_mut(key).and_then(|cell| cell.opened.as_mut()) {
                opened.trying = false;
            }
        }
    }
}

fn keys_of(spec: &ToolSpec, scope: &Scope) -> Vec<BreakerKey> {
    let mut keys = vec![BreakerKey::Tool(spec.id.to_string().into())];
    keys.extend(spec.capability.clone().map(BreakerKey::Capability));
    if let Origin::Server(server) = &spec.id.origin {
        keys.push(BreakerKey::Server(server.clone()));
    }
    keys.extend(scope.route.clone().map(BreakerKey::Route));
    keys
}

fn refusal(key: &BreakerKey, wait: Option<Duration>) -> Refusal {
    let reason = format!("The breaker of {key} is open: it failed too often lately, or was opened by hand.");
    let mut refusal = Refusal::new(RefusalCode::CircuitOpen, reason);
    refusal.retry_after_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    refusal.with_hint(match wait {
        Some(wait) => format!("Do something else and come back in {} s.", wait.as_secs().max(1)),
        None => "It stays open until a person resets it; do something else.".to_owned(),
    })
}

impl fmt::Display for BreakerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool `{name}`"),
            Self::Capability(name) => write!(f, "capability `{name}`"),
            Self::Server(name) => write!(f, "server `{name}`"),
            Self::Route(name) => write!(f, "route `{name}`"),
        }
    }
}
