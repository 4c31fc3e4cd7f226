//! Signs of life of a running body: what its deadlines go by, and what observers hear of it.

use std::{
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{deadline::later, hourglass::Hourglass};
use crate::{
    event::{Beacon, Progress, Steps},
    tool::Timeouts,
};

/// Which deadline passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Connect(Duration),
    Idle(Duration),
    Total(Duration),
}

/// Signs of life of a running body.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    // Made when first felt: most calls never get that far.
    heart: OnceLock<Box<Heart>>,
    // Set where nobody observes: what is told then is heard by nobody, and not kept.
    unheard: AtomicBool,
}

#[derive(Debug, Default)]
struct Heart {
    // Set when somebody may hear of progress at once.
    beacon: OnceLock<Beacon>,
    life: Mutex<Life>,
    // Made when first asked for: most bodies ask nobody.
    glass: OnceLock<Hourglass>,
}

#[derive(Debug, Default)]
struct Life {
    beat: Option<Instant>,
    // Progress of the first moment waits here until the call's own steps are told: it never overtakes them.
    held: Vec<Progress>,
}

impl Pulse {
    pub(crate) fn beat(&self, progress: Progress) {
        let heart = self.heart();
        let mut life = heart.life();
        life.beat = Some(Instant::now());
        match heart.beacon.get() {
            Some(beacon) => {
                drop(life);
                beacon.progress(progress);
            }
            None if self.unheard.load(Ordering::Acquire) => {}
            None => life.held.push(progress),
        }
    }

    pub(crate) fn connected(&self) {
        self.heart().life().beat = Some(Instant::now());
    }

    /// The time its deadlines go by.
    pub(crate) fn hourglass(&self) -> &Hourglass {
        self.heart().glass.get_or_init(Hourglass::default)
    }

    /// Tells what was held back so far, after the call's own steps.
    pub(crate) fn tell_held(&self, steps: &mut Steps<'_>) {
        if let Some(heart) = self.heart.get() {
            self.tell_of(heart, steps);
        }
    }

    #[cold]
    fn tell_of(&self, heart: &Heart, steps: &mut Steps<'_>) {
        let held = !heart.life().held.is_empty();
        if held {
            self.release(steps);
        }
    }

    /// From here on progress is told as it comes.
    #[inline(never)]
    pub(crate) fn release(&self, steps: &mut Steps<'_>) {
        steps.flush();
        let Some(beacon) = steps.beacon() else {
            self.unheard.store(true, Ordering::Release);
            return self.heart.get().into_iter().for_each(|heart| heart.life().held.clear());
        };
        let heart = self.heart();
        let mut life = heart.life();
        let beacon = heart.beacon.get_or_init(|| beacon);
        life.held.drain(..).for_each(|progress| beacon.progress(progress));
    }

    fn heart(&self) -> &Heart {
        self.heart.get_or_init(Box::default)
    }

    pub(crate) fn next_deadline(
        &self,
        timeouts: &Timeouts,
        started: Instant,
        until: Instant,
    ) -> (Instant, Late) {
        let heart = self.heart.get();
        let glass = heart.and_then(|heart| heart.glass.get());
        let until = glass.map_or(until, |glass| later(until, glass.stood()));
        // To be asked something is a sign of life.
        let beat = heart.and_then(|heart| heart.life().beat).max(glass.and_then(Hourglass::ran_on));
        let mut next = (until, Late::Total(timeouts.total));
        let mut sooner = |at: Instant, late: Late| {
            if at < next.0 {
                next = (at, late);
            }
        };
        if let Some(idle) = timeouts.idle {
            sooner(later(beat.unwrap_or(started), idle), Late::Idle(idle));
        }
        if let (Some(connect), None) = (timeouts.connect, beat) {
            sooner(later(started, connect), Late::Connect(connect));
        }
        next
    }
}

impl Heart {
    fn life(&self) -> std::sync::MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connect(limit) => write!(f, "it did not connect within {limit:?}"),
            Self::Idle(limit) => write!(f, "it made no progress for {limit:?}"),
            Self::Total(limit) => write!(f, "it did not finish within {limit:?}"),
        }
    }
}
