//! The batch a call runs in: what keeps it from starting, what stops its body, and who hears of its end.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{guard::Inbox, tool::Interrupt};

/// What the calls of a batch share.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Stops every call of the batch.
    pub(crate) token: CancellationToken,
    /// Keeps calls from starting, and stops those that may be interrupted.
    pub(crate) soft: CancellationToken,
    /// True where its calls may run at the same time.
    pub(crate) concurrent: bool,
    /// Which bodies have something to say.
    pub(crate) inbox: Inbox,
}

/// One call's part of it.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    batch: Arc<Batch>,
    place: usize,
    interrupt: Interrupt,
}

impl Batch {
    pub(crate) fn new(token: CancellationToken, soft: CancellationToken, concurrent: bool) -> Self {
        Self { token, soft, concurrent, inbox: Inbox::default() }
    }
}

impl Lane {
    /// For the call at `place` of the turn.
    pub(crate) fn new(batch: &Arc<Batch>, place: usize, interrupt: Interrupt) -> Self {
        Self { batch: batch.clone(), place, interrupt }
    }

    /// For one call that has it to itself: it does not start once `start` is cancelled, and `body` stops it.
    pub(crate) fn own(start: CancellationToken, body: CancellationToken, concurrent: bool) -> Self {
        let batch = Arc::new(Batch::new(body, start, concurrent));
        Self { batch, place: 0, interrupt: Interrupt::Block }
    }

    pub(crate) fn is_concurrent(&self) -> bool {
        self.batch.concurrent
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

    /// Says that the call's body has no more to say.
    pub(crate) fn tell(&self) {
        self.batch.inbox.tell(self.place);
    }

    /// Stops the one call that has this lane to itself.
    pub(crate) fn stop(&self) {
        self.batch.soft.cancel();
        self.batch.token.cancel();
    }
}
