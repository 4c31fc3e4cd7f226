//! Breakers in the store: seen by every process, opened and reset by hand from any of them.

use std::time::Duration;

use tollgate::{
    guard::{Breaker, BreakerBook, BreakerKey, BreakerState},
    tool::Route,
};

use crate::{LazyStore, Store, StoreError, book::Tx, db::Param, now_ms};

impl BreakerBook for LazyStore {
    fn load(&self) -> Vec<Breaker> {
        // A store that is not there yet has no breakers, and is not made for the sake of looking.
        if !self.place().exists() {
            return Vec::new();
        }
        self.get().ok().and_then(|store| store.breakers().ok()).unwrap_or_default()
    }

    fn note(&self, key: &BreakerKey, stands: Option<&Breaker>) {
        if let Ok(store) = self.get() {
            let (key, stands) = (key.clone(), stands.cloned());
            store.hand_over(move |tx| write(tx, &key, stands.as_ref()));
        }
    }
}

impl Store {
    /// Every breaker that is not simply closed and clean.
    pub fn breakers(&self) -> Result<Vec<Breaker>, StoreError> {
        let rows = self.read(|db| {
            db.query("SELECT kind, name, failures, opened, until FROM breakers ORDER BY kind, name", &[])
        })?;
        let now = now_ms();
        let mut breakers = Vec::new();
        for row in rows {
            let Some(key) = key_of(row.text(0)?, row.text(1)?) else { continue };
            let (opened, until) = (row.int(3)? == 1, row.int(4)?);
            // A clock that was set back must not keep a breaker open for longer than it was opened for.
            let wait = u64::try_from(until - now).unwrap_or(0).min(LONGEST_WAIT);
            let retry_after = (opened && until > 0).then(|| Duration::from_millis(wait));
            let state = match (opened, retry_after) {
                (false, _) => BreakerState::Closed,
                (true, Some(Duration::ZERO)) => BreakerState::HalfOpen,
                (true, _) => BreakerState::Open,
            };
            breakers.push(Breaker {
                key,
                state,
                failures: u32::try_from(row.int(2)?).unwrap_or(u32::MAX),
                retry_after,
            });
        }
        Ok(breakers)
    }

    /// Opens a breaker by hand; it stays open until it is reset.
    pub fn open_breaker(&self, key: BreakerKey) -> Result<(), StoreError> {
        self.write_blocking(move |tx| {
            let opened =
                Breaker { key: key.clone(), state: BreakerState::Open, failures: 0, retry_after: None };
            write(tx, &key, Some(&opened))
        })
    }

    /// Closes a breaker and forgets its failures.
    pub fn reset_breaker(&self, key: BreakerKey) -> Result<(), StoreError> {
        self.write_blocking(move |tx| write(tx, &key, None))
    }
}

/// An hour, in milliseconds.
const LONGEST_WAIT: u64 = 3_600_000;

fn write(tx: &mut Tx<'_>, key: &BreakerKey, stands: Option<&Breaker>) -> Result<(), StoreError> {
    let (kind, name) = words(key);
    let place = [Param::Text(kind), Param::Text(name)];
    let Some(breaker) = stands else {
        tx.db().execute("DELETE FROM breakers WHERE kind = $1 AND name = $2", &place)?;
        return Ok(());
    };
    let until = breaker.retry_after.map_or(0, |wait| now_ms() + i64::try_from(wait.as_millis()).unwrap_or(0));
    let [kind, name] = place;
    tx.db().execute(
        "INSERT INTO breakers (kind, name, failures, opened, until) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (kind, name) DO UPDATE SET failures = excluded.failures, opened = excluded.opened,
           until = excluded.until",
        &[
            kind,
            name,
            Param::Int(breaker.failures.into()),
            Param::Int(i64::from(breaker.state != BreakerState::Closed)),
            Param::Int(until),
        ],
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
