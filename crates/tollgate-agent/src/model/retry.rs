//! When a request is made again: a few times, each later than the one before, and never two clients in step.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

use super::{ErrorKind, ModelError};

/// How often, and how far apart, a request is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How many times it is made at most, the first time included.
    pub attempts: u32,
    /// The longest wait before the second attempt; doubled for each one after it.
    pub first: Duration,
    /// The longest wait there is, whatever the provider asks for; one that asks for more gets no further attempt.
    pub longest: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 5, first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

impl Retries {
    /// Never again.
    pub const NONE: Self = Self { attempts: 1, first: Duration::ZERO, longest: Duration::ZERO };

    /// How many times a request that fails with this error is made at most.
    pub fn attempts_for(&self, error: &ModelError) -> u32 {
        match error.kind() {
            // A second look is enough: the address is wrong, or somebody has to start the server.
            ErrorKind::Unreachable => self.attempts.min(2),
            kind if kind.is_transient() => self.attempts,
            _ => 1,
        }
    }

    /// How long to wait after attempt number `made` failed with this error; `None` where that was the last one.
    ///
    /// What the provider asks for is kept to; otherwise the wait is random between half of the doubled time and the
    /// whole of it.
    pub fn delay(&self, made: u32, error: &ModelError) -> Option<Duration> {
        if made >= self.attempts_for(error) {
            return None;
        }
        if let Some(asked) = error.retry_after() {
            // A little later than asked for, so that clocks that differ do not matter.
            return (asked <= self.longest).then(|| asked + spread(Duration::from_millis(250)) / 2);
        }
        let doubled = self.first.saturating_mul(1 << made.saturating_sub(1).min(16)).min(self.longest);
        Some(doubled / 2 + spread(doubled / 2))
    }
}

/// A random part of a time.
fn spread(time: Duration) -> Duration {
    // The hasher's keys are the standard library's own source of randomness; nothing secret depends on it here.
    let part = RandomState::new().build_hasher().finish() % 1_000;
    time.saturating_mul(u32::try_from(part).unwrap_or(0)) / 1_000
}
