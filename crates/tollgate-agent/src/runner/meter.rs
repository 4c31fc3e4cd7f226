//! What an agent and all it sent out have spent together, held against every limit above it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::machine::{Limit, Limits, Spent};

/// The counters of one agent, part of those of whoever sent it out.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    spent: Mutex<Spent>,
    parent: Option<Arc<Self>>,
}

impl Meter {
    pub(crate) fn new(limits: Limits, spent: Spent, parent: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { limits, spent: Mutex::new(spent), parent })
    }

    /// Counts here and everywhere above.
    pub(crate) fn charge(&self, calls: u64, tokens: u64, microdollars: u64) {
        let mut at = Some(self);
        while let Some(meter) = at {
            let mut spent = meter.spent.lock().unwrap_or_else(PoisonError::into_inner);
            spent.calls += calls;
            spent.tokens += tokens;
            spent.microdollars += microdollars;
            drop(spent);
            at = meter.parent.as_deref();
        }
    }

    /// The first limit above this agent's own that is reached.
    pub(crate) fn ceiling(&self) -> Option<Limit> {
        let parent = self.parent.as_deref()?;
        parent.limits.reached(&parent.spent()).or_else(|| parent.ceiling())
    }

    /// What is left for whoever is sent out from here.
    pub(crate) fn left(&self) -> Limits {
        let left = self.limits.left(&self.spent());
        match &self.parent {
            Some(parent) => left.under(&parent.left()),
            None => left,
        }
    }

    fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
