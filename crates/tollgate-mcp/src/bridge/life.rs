//! How a server's failures are counted: when it is started again, and when it is left alone.

use std::time::Duration;

use tokio::time::Instant;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Not started: nobody needed it yet.
    Idle,
    /// On its way.
    Starting,
    /// Connected.
    Ready,
    /// It failed; it is tried again when it is needed and the wait is over.
    Down {
        /// Why, with the last words of the server where it had any.
        reason: String,
        /// When it is tried again at the earliest.
        retry_after: Duration,
    },
    /// It kept failing and is left alone for a while.
    Broken {
        /// Why.
        reason: String,
        /// When it is tried again at the earliest.
        retry_after: Duration,
    },
}

impl Health {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Down { .. } => "down",
            Self::Broken { .. } => "broken",
        }
    }

    /// Why it is not ready, where it failed.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Down { reason, .. } | Self::Broken { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

/// So many failures in a row, and a server is left alone.
const MOST_FAILURES: u32 = 4;

/// For so long.
const ALONE: Duration = Duration::from_secs(60);

/// The wait after the second failure; it doubles from there. After the first there is none.
const WAIT: Duration = Duration::from_millis(250);

const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A connection that held so long was no failure to start.
const STEADY: Duration = Duration::from_secs(30);

/// The failures of one server.
#[derive(Debug, Default)]
pub(super) struct Failures {
    in_a_row: u32,
    last: Option<(String, Instant)>,
}

impl Failures {
    /// It could not be reached, or was lost after so long.
    pub(super) fn note(&mut self, reason: String, held: Duration) {
        self.in_a_row = if held >= STEADY { 1 } else { self.in_a_row.saturating_add(1) };
        self.last = Some((reason, Instant::now()));
    }

    /// It has answered a call: whatever was before is over.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// How it stands; `None` where it has not failed.
    pub(super) fn health(&self) -> Option<Health> {
        self.health_at(Instant::now())
    }

    fn health_at(&self, now: Instant) -> Option<Health> {
        let (reason, at) = self.last.as_ref()?;
        let wait = match self.in_a_row {
            0 | 1 => Duration::ZERO,
            n if n >= MOST_FAILURES => ALONE,
            n => WAIT.saturating_mul(1 << (n - 2).min(10)).min(LONGEST_WAIT),
        };
        let retry_after = wait.saturating_sub(now.saturating_duration_since(*at));
        let reason = reason.clone();
        Some(if self.in_a_row >= MOST_FAILURES && !retry_after.is_zero() {
            Health::Broken { reason, retry_after }
        } else {
            Health::Down { reason, retry_after }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(failures: &Failures, later: Duration) -> (bool, u128) {
        // The moment of the failure itself, so that no time has passed but what is said.
        let at = failures.last.as_ref().unwrap().1;
        match failures.health_at(at + later).unwrap() {
            Health::Broken { retry_after, .. } => (true, retry_after.as_millis()),
            Health::Down { retry_after, .. } => (false, retry_after.as_millis()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_wait_grows_with_each_failure_and_then_the_server_is_left_alone() {
        let mut failures = Failures::default();
        assert_eq!(failures.health(), None);
        let waits: Vec<_> = (0..4)
            .map(|_| {
                failures.note("x".to_owned(), Duration::ZERO);
                wait(&failures, Duration::ZERO)
            })
            .collect();
        assert_eq!(waits, [(false, 0), (false, 250), (false, 500), (true, 60_000)]);
        assert_eq!(wait(&failures, ALONE), (false, 0), "one more try");
        failures.note("x".to_owned(), STEADY);
        assert_eq!(wait(&failures, Duration::ZERO), (false, 0), "it had held: no loop");
    }
}
