//! How a store behaves, and how long anyone waits for it.

use std::time::Duration;

/// How a store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// A process that has not moved for so long, and holds a key another one waits for, is taken for dead.
    pub lease: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { lease: Duration::from_secs(10) }
    }
}

impl Settings {
    /// How long anyone waits for the right to write. Longer than a lease: a process that stands still inside a
    /// transaction keeps everyone waiting.
    pub(crate) fn patience(self) -> Duration {
        (2 * self.lease).max(Duration::from_secs(1))
    }
}
