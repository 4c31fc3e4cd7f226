//! One watch over all calls of a batch: it rings when something may stop them, or the first deadline is there.
//!
//! A timer, and a place in the line of a token, for each of them would take as long as the rest of their wait.

use std::{future::Future, pin::Pin, task::Context};

use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::call::Batch;

/// Rings for a batch. What that means for each of its calls is theirs to say.
pub(super) struct Watch<'a> {
    // What stops all of them stops those first that may be interrupted.
    stops: [Stop<'a>; 2],
    first: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A token that is waited for once somebody asks, until it is cancelled.
enum Stop<'a> {
    Unasked(&'a CancellationToken),
    Asked(Pin<Box<WaitForCancellationFuture<'a>>>),
    Over,
}

impl<'a> Watch<'a> {
    pub(super) fn over(batch: &'a Batch) -> Self {
        Self { stops: [Stop::Unasked(&batch.soft), Stop::Unasked(&batch.token)], first: None, alarm: None }
    }

    /// Rings at `next`, at the latest.
    pub(super) fn until(&mut self, next: Instant) {
        if self.first.is_none_or(|first| next < first) {
            self.first = Some(next);
        }
    }

    /// True where it rings. It forgets the deadline then: whoever still has one says so again.
    pub(super) fn poll(&mut self, task: &mut Context<'_>) -> bool {
        let mut rings = false;
        for stop in &mut self.stops {
            rings |= stop.is_new(task);
        }
        if let Some(first) = self.first {
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(first)));
            if alarm.deadline() != first {
                alarm.as_mut().reset(first);
            }
            rings |= alarm.as_mut().poll(task).is_ready();
        }
        if rings {
            (self.first, self.alarm) = (None, None);
        }
        rings
    }
}

impl Stop<'_> {
    fn is_new(&mut self, task: &mut Context<'_>) -> bool {
        if let Self::Unasked(token) = self {
            *self = Self::Asked(Box::pin(token.cancelled()));
        }
        let Self::Asked(cancelled) = self else { return false };
        let is_new = cancelled.as_mut().poll(task).is_ready();
        if is_new {
            *self = Self::Over;
        }
        is_new
    }
}
