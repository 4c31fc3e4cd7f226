//! Answers a hook lets us use again, for as long as it said. Failures are never kept.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use tollgate::json::canonical;

use super::{answer::Said, question::Question};

/// What was said, by what was asked.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<HashMap<Key, (Instant, Said)>>);

/// Everything the hook was told, but which call of which run it was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

/// More answers than this are not kept.
const MOST: usize = 4_096;

impl Key {
    /// `None` where the question has no JSON form, and so no answer either.
    pub(super) fn of(question: Question<'_>) -> Option<Self> {
        let sameness = question.sameness().ok()?;
        Some(Self(Sha256::digest(canonical(&sameness)).into()))
    }
}

impl Cache {
    pub(super) fn get(&self, key: Key) -> Option<Said> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&key).filter(|(until, _)| Instant::now() < *until).map(|(_, said)| said.clone())
    }

    pub(super) fn put(&self, key: Key, said: Said, keep: Duration) {
        let now = Instant::now();
        let Some(until) = now.checked_add(keep).filter(|_| !keep.is_zero()) else { return };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST {
            kept.retain(|_, (until, _)| now < *until);
        }
        if kept.len() < MOST {
            kept.insert(key, (until, said));
        }
    }
}
