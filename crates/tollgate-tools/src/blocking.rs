//! Work that blocks a thread runs on one that may be blocked, and learns when nobody waits for it any more.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::oneshot;
use tollgate::{
    Failure,
    guard::{Spawner as _, TokioSpawner},
};

/// Whether the work should stop: its call was cancelled, ran out of time or was dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Dropped with the future of the call, however that ends.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` off the async threads; outside a runtime, here and now.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let stop = Stop::default();
    let waiting = Waiting(stop.clone());
    let Some(spawner) = TokioSpawner::current() else { return work(&stop) };
    let (done, answer) = oneshot::channel();
    spawner.blocking(Box::new(move || {
        let _ = done.send(work(&stop));
    }));
    let answer = answer.await;
    drop(waiting);
    answer.unwrap_or_else(|_| {
        Err(Failure::unknown("The work ended without an answer.").with_hint("Look before doing it again."))
    })
}

/// The answer of work that was told to stop. Nobody waits for it, and nothing was changed.
pub(crate) fn stopped() -> Failure {
    Failure::retryable("The call was stopped; nothing was changed.")
}
