//! The batch a call runs in: what keeps it from starting, what stops its body, and who watches over its wait.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{
    guard::{Bell, Ringer},
    tool::Interrupt,
};

/// What the calls of a batch share.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Stops every call of the batch.
    pub(crate) token: CancellationToken,
    /// Keeps calls from starting, and stops those that may be interrupted.
    pub(crate) soft: CancellationToken,
    // Where somebody polls its ringer.
    bell: Option<Bell>,
}

/// One call's part of it.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    batch: Arc<Batch>,
    interrupt: Interrupt,
    concurrent: bool,
}

impl Batch {
    /// A batch whose calls watch over themselves.
    pub(crate) fn unwatched(token: CancellationToken, soft: CancellationToken) -> Self {
        Self { token, soft, bell: None }
    }

    /// A batch that watches over its calls: whoever polls them polls its [`Ringer`] too.
    pub(crate) fn watched(token: CancellationToken, soft: CancellationToken) -> Self {
        Self { token, soft, bell: Some(Bell::default()) }
    }

    /// What has to be polled for a batch that watches.
    pub(crate) fn ringer(&self) -> Option<Ringer<'_>> {
        self.bell.as_ref().map(|bell| Ringer::new(bell, [&self.token, &self.soft]))
    }
}

impl Lane {
    pub(crate) fn new(batch: &Arc<Batch>, interrupt: Interrupt, concurrent: bool) -> Self {
        Self { batch: batch.clone(), interrupt, concurrent }
    }

    /// For one call that has it to itself: it does not start once `start` is cancelled, and `body` stops it.
    pub(crate) fn own(start: CancellationToken, body: CancellationToken, concurrent: bool) -> Self {
        let batch = Arc::new(Batch::unwatched(body, start));
        Self { batch, interrupt: Interrupt::Block, concurrent }
    }

    pub(crate) fn is_concurrent(&self) -> bool {
        self.concurrent
    }

    /// Keeps the call from starting.
    pub(crate) fn start(&self) -> &CancellationToken {
        &self.batch.soft
    }

    /// Stops its body.
    pub(crate) fn body(&self) -> &CancellationToken {
        match self.interrupt {
            Interrupt::Cancel => &self.batch.soft,
            Interrupt::Block => &self.batch.token,
        }
    }

    pub(crate) fn bell(&self) -> Option<&Bell> {
        self.batch.bell.as_ref()
    }

    /// Stops the one call that has this lane to itself.
    pub(crate) fn stop(&self) {
        self.batch.soft.cancel();
        self.batch.token.cancel();
    }
}
