//! The conversations that are open, each with the one who opened it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::gateway::{
    Gateway, Identity, random,
    session::{Session, lock},
};

/// Sessions by id, and what the stateless requests of each caller share.
#[derive(Debug)]
pub(super) struct Sessions {
    /// How long one may be left alone.
    idle: Duration,
    swept: Mutex<Instant>,
    open: Mutex<HashMap<String, Open>>,
    shared: Mutex<HashMap<Identity, Arc<Session>, foldhash::fast::RandomState>>,
}

#[derive(Debug)]
struct Open {
    session: Arc<Session>,
    used: Instant,
}

/// More sessions than one machine's clients open.
const MOST: usize = 10_000;

/// How often those that are over are looked for, at most.
const SWEEP: Duration = Duration::from_secs(30);

impl Open {
    /// True when nobody used it for so long, no request of it is under way, and nobody reads its stream.
    fn is_over(&self, idle: Duration) -> bool {
        self.used.elapsed() >= idle && self.session.load() == 0 && Arc::strong_count(&self.session) == 1
    }

    fn end(&self) {
        self.session.stop();
        self.session.run.token().cancel();
    }
}

impl Sessions {
    /// None are open. One is over when nobody used it for `idle`.
    pub(super) fn new(idle: Duration) -> Self {
        Self { idle, swept: Mutex::new(Instant::now()), open: Mutex::default(), shared: Mutex::default() }
    }

    /// A new session; `None` when there are too many.
    pub(super) fn open(&self, gateway: &Gateway, identity: &Identity) -> Option<(String, Arc<Session>)> {
        let mut open = lock(&self.open);
        let mut swept = lock(&self.swept);
        if open.len() >= MOST || swept.elapsed() >= SWEEP {
            *swept = Instant::now();
            open.extract_if(|_, open| open.is_over(self.idle)).for_each(|(_, open)| open.end());
        }
        if open.len() >= MOST {
            return None;
        }
        let (id, session) = (random::id(), Session::new(identity.clone(), gateway.run()));
        open.insert(id.clone(), Open { session: session.clone(), used: Instant::now() });
        Some((id, session))
    }

    /// The session of this id, for the one who opened it and nobody else.
    pub(super) fn get(&self, id: &str, identity: &Identity) -> Option<Arc<Session>> {
        let mut open = lock(&self.open);
        let found = open.get_mut(id).filter(|found| found.session.identity == *identity)?;
        if found.is_over(self.idle) {
            found.end();
            open.remove(id);
            return None;
        }
        found.used = Instant::now();
        Some(found.session.clone())
    }

    /// Ends a session; false where there is none of this id.
    pub(super) fn close(&self, id: &str, identity: &Identity) -> bool {
        let Some(session) = self.get(id, identity) else { return false };
        lock(&self.open).remove(id);
        session.stop();
        session.run.token().cancel();
        true
    }

    /// What the stateless requests of this caller share: a run, and numbers for their calls.
    pub(super) fn shared(&self, gateway: &Gateway, identity: &Identity) -> Arc<Session> {
        let mut shared = lock(&self.shared);
        if let Some(session) = shared.get(identity) {
            return session.clone();
        }
        if shared.len() >= MOST {
            shared.retain(|_, session| session.load() > 0);
        }
        let session = Session::shared(identity.clone(), gateway.run());
        shared.insert(identity.clone(), session.clone());
        session
    }

    /// Ends all that is under way.
    pub(super) fn stop(&self) {
        lock(&self.open).values().for_each(Open::end);
        lock(&self.shared).values().for_each(|session| session.stop());
    }
}
