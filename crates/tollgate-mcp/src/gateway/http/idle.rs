//! A connection on which nothing is asked any more is closed after a while.
//!
//! It is looked at now and then. A timer that is set anew for every request wakes the runtime's driver each time.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

use crate::gateway::session::lock;

/// How long a connection may take to say what it wants, and how long one that said it all may stay for more.
const LONGEST: Duration = Duration::from_secs(75);

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(15);

/// Since when nothing is asked on one connection.
#[derive(Debug)]
pub(super) struct Idle(Mutex<State>);

#[derive(Debug)]
struct State {
    under_way: usize,
    since: Instant,
}

/// Something is asked, until this is dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Idle>);

/// An answer. As long as some of it is still to be sent, its connection is not idle.
pub(super) struct Answer {
    body: Body,
    _busy: Busy,
}

impl Idle {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { under_way: 0, since: Instant::now() })))
    }

    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        lock(&self.0).under_way += 1;
        Busy(self.clone())
    }

    /// Resolves when it was idle for too long.
    pub(super) async fn too_long(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            if self.is_over(Instant::now()) {
                return;
            }
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let state = lock(&self.0);
        state.under_way == 0 && now.saturating_duration_since(state.since) >= LONGEST
    }
}

impl Busy {
    pub(super) fn until_sent(self, body: Body) -> Answer {
        Answer { body, _busy: self }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        state.under_way -= 1;
        state.since = Instant::now();
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(task)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_closed_once_nothing_was_asked_for_long_and_never_while_something_is() {
        let idle = Idle::new();
        assert!(!idle.is_over(Instant::now()) && idle.is_over(Instant::now() + LONGEST));
        let answer = idle.begin().until_sent(Body::empty());
        assert!(!idle.is_over(Instant::now() + 10 * LONGEST), "an answer is under way");
        drop(answer);
        assert!(!idle.is_over(Instant::now()) && idle.is_over(Instant::now() + LONGEST));
    }
}
