//! Breakers in the store: seen by every process within half a second, opened and reset by hand from any of them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tollgate::{
    guard::{Breaker, BreakerBook, BreakerKey, BreakerState},
    tool::Route,
};

use crate::{
    LazyStore, Store, StoreError,
    book::Tx,
    db::{Db, Param},
    now_ms,
};

/// How often the writer looks whether other processes have changed a breaker, once somebody here minds them.
pub(crate) const LOOK: Duration = Duration::from_millis(500);

/// How breakers stand, as far as this process knows: what the store said last, and what is on its way there.
#[derive(Default)]
pub(crate) struct Shelf {
    rows: Mutex<Rows>,
    /// Grows with every change that came from elsewhere.
    changes: AtomicU64,
    minded: AtomicBool,
}

#[derive(Default)]
struct Rows {
    known: BTreeMap<BreakerKey, Kept>,
    /// Written here, and not in the store yet: what the store says of these is old.
    unwritten: HashMap<BreakerKey, u64>,
    next: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    failures: i64,
    opened: bool,
    /// Milliseconds since 1970; 0: until it is reset.
    until: i64,
}

impl BreakerBook for Store {
    fn load(&self) -> Vec<Breaker> {
        self.inner.desk.shelf.shown()
    }

    fn note(&self, key: &BreakerKey, stands: Option<&Breaker>) {
        let kept = stands.map(Kept::of);
        let number = self.inner.desk.shelf.note(key, kept);
        let (key, desk) = (key.clone(), std::sync::Arc::downgrade(&self.inner.desk));
        self.hand_over(move |tx| {
            write(tx, &key, kept)?;
            if let Some(desk) = desk.upgrade() {
                desk.shelf.written(&key, number);
            }
            Ok(())
        });
    }

    fn changes(&self) -> u64 {
        self.inner.desk.shelf.minded.store(true, Ordering::Relaxed);
        self.inner.desk.shelf.changes.load(Ordering::Acquire)
    }
}

impl BreakerBook for LazyStore {
    fn load(&self) -> Vec<Breaker> {
        // A store that is not there yet has no breakers, and is not made for the sake of looking.
        if self.opened().is_none() && !self.place().exists() {
            return Vec::new();
        }
        self.get().map(BreakerBook::load).unwrap_or_default()
    }

    fn note(&self, key: &BreakerKey, stands: Option<&Breaker>) {
        if let Ok(store) = self.get() {
            store.note(key, stands);
        }
    }

    fn changes(&self) -> u64 {
        self.opened().and_then(Result::ok).map_or(0, BreakerBook::changes)
    }
}

impl Store {
    /// Every breaker that is not simply closed and clean.
    pub fn breakers(&self) -> Result<Vec<Breaker>, StoreError> {
        let rows = self.read(|db| all(db))?;
        Ok(rows.into_iter().map(|(key, kept)| kept.show(key)).collect())
    }

    /// Opens a breaker by hand; it stays open until it is reset.
    pub fn open_breaker(&self, key: BreakerKey) -> Result<(), StoreError> {
        self.write_blocking(move |tx| write(tx, &key, Some(Kept { failures: 0, opened: true, until: 0 })))
    }

    /// Closes a breaker and forgets its failures.
    pub fn reset_breaker(&self, key: BreakerKey) -> Result<(), StoreError> {
        self.write_blocking(move |tx| write(tx, &key, None))
    }
}

impl Shelf {
    /// As the store says; those that are on their way there stay as they are here.
    pub(crate) fn look(&self, db: &mut dyn Db) -> Result<(), StoreError> {
        let mut found: BTreeMap<_, _> = all(db)?.into_iter().collect();
        let mut rows = self.lock();
        for key in rows.unwritten.keys() {
            match rows.known.get(key) {
                Some(kept) => drop(found.insert(key.clone(), *kept)),
                None => drop(found.remove(key)),
            }
        }
        if found != rows.known {
            rows.known = found;
            drop(rows);
            self.changes.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    pub(crate) fn is_minded(&self) -> bool {
        self.minded.load(Ordering::Relaxed)
    }

    fn note(&self, key: &BreakerKey, kept: Option<Kept>) -> u64 {
        let mut rows = self.lock();
        match kept {
            Some(kept) => drop(rows.known.insert(key.clone(), kept)),
            None => drop(rows.known.remove(key)),
        }
        rows.next += 1;
        let number = rows.next;
        rows.unwritten.insert(key.clone(), number);
        number
    }

    fn written(&self, key: &BreakerKey, number: u64) {
        let mut rows = self.lock();
        if rows.unwritten.get(key) == Some(&number) {
            rows.unwritten.remove(key);
        }
    }

    fn shown(&self) -> Vec<Breaker> {
        self.lock().known.iter().map(|(key, kept)| kept.show(key.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn of(breaker: &Breaker) -> Self {
        let until = breaker.retry_after;
        Self {
            failures: breaker.failures.into(),
            opened: breaker.state != BreakerState::Closed,
            until: until.map_or(0, |wait| now_ms() + i64::try_from(wait.as_millis()).unwrap_or(0)),
        }
    }

    fn show(self, key: BreakerKey) -> Breaker {
        // A clock that was set back must not keep a breaker open for longer than it was opened for.
        let wait = u64::try_from(self.until - now_ms()).unwrap_or(0).min(LONGEST_WAIT);
        let retry_after = (self.opened && self.until > 0).then(|| Duration::from_millis(wait));
        let state = match (self.opened, retry_after) {
            (false, _) => BreakerState::Closed,
            (true, Some(Duration::ZERO)) => BreakerState::HalfOpen,
            (true, _) => BreakerState::Open,
        };
        Breaker { key, state, failures: u32::try_from(self.failures).unwrap_or(u32::MAX), retry_after }
    }
}

/// An hour, in milliseconds.
const LONGEST_WAIT: u64 = 3_600_000;

fn all(db: &mut dyn Db) -> Result<Vec<(BreakerKey, Kept)>, StoreError> {
    let rows = db.query("SELECT kind, name, failures, opened, until FROM breakers", &[])?;
    let mut found = Vec::new();
    for row in &rows {
        let Some(key) = key_of(row.text(0)?, row.text(1)?) else { continue };
        found.push((key, Kept { failures: row.int(2)?, opened: row.int(3)? == 1, until: row.int(4)? }));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

fn write(tx: &mut Tx<'_>, key: &BreakerKey, stands: Option<Kept>) -> Result<(), StoreError> {
    let (kind, name) = words(key);
    let place = [Param::Text(kind), Param::Text(name)];
    let Some(Kept { failures, opened, until }) = stands else {
        tx.db().execute("DELETE FROM breakers WHERE kind = $1 AND name = $2", &place)?;
        return Ok(());
    };
    let [kind, name] = place;
    tx.db().execute(
        "INSERT INTO breakers (kind, name, failures, opened, until) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (kind, name) DO UPDATE SET failures = excluded.failures, opened = excluded.opened,
           until = excluded.until",
        &[kind, name, Param::Int(failures), Param::Int(opened.into()), Param::Int(until)],
    )?;
    Ok(())
}

fn words(key: &BreakerKey) -> (&'static str, &str) {
    match key {
        BreakerKey::Tool(name) => ("tool", name),
        BreakerKey::Capability(name) => ("capability", name),
        BreakerKey::Server(name) => ("server", name),
        BreakerKey::Route(route) => ("route", route.as_str()),
    }
}

fn key_of(kind: &str, name: &str) -> Option<BreakerKey> {
    Some(match kind {
        "tool" => BreakerKey::Tool(name.into()),
        "capability" => BreakerKey::Capability(name.into()),
        "server" => BreakerKey::Server(name.into()),
        "route" => BreakerKey::Route(Route::new(name)),
        _ => return None,
    })
}
