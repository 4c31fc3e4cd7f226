//! Tries again, only what failed without effect, within a limit, after a growing and jittered wait.

use std::time::Duration;

use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// How often, and after which waits, a retryable error is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all; 1 is never again.
    pub attempts: u32,
    /// The wait before the second try; it doubles from there.
    pub base: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl RetryPolicy {
    /// One try.
    pub const NEVER: Self = Self { attempts: 1, base: Duration::ZERO, longest: Duration::ZERO };

    /// Up to `attempts` tries, from 100 ms to 10 s apart.
    pub const fn up_to(attempts: u32) -> Self {
        Self { attempts, base: Duration::from_millis(100), longest: Duration::from_secs(10) }
    }

    /// The wait after the try numbered `attempt`, or `None` when that was the last. What the other side
    /// asked for is honoured; between half and all of the computed wait otherwise.
    pub(crate) fn wait_after(&self, attempt: u32, asked: Option<Duration>) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let doubled = self.base.saturating_mul(1 << (attempt - 1).min(16)).min(self.longest);
        let half = doubled / 2;
        let jitter = RandomState::default().hash_one(attempt) % 1024;
        Some(asked.unwrap_or(half + half * u32::try_from(jitter).unwrap_or(0) / 1024))
    }
}
