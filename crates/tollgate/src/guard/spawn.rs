//! The core starts no task by itself: it is given the one that may.

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, sync::oneshot};

/// Runs tasks and blocking work on behalf of the path.
pub trait Spawner: Send + Sync + 'static {
    /// Runs a task to its end, beside the caller.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Runs work that blocks a thread, on a thread that may be blocked.
    fn blocking(&self, work: Box<dyn FnOnce() + Send>);
}

/// Tasks on a tokio runtime.
#[derive(Debug, Clone)]
pub struct TokioSpawner(Handle);

impl TokioSpawner {
    /// The runtime of the calling task; `None` outside of one.
    pub fn current() -> Option<Self> {
        Handle::try_current().ok().map(Self)
    }
}

impl Spawner for TokioSpawner {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.0.spawn(task);
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.spawn_blocking(work);
    }
}

/// Does work on a thread that may be blocked; here, where there is no spawner. `None` when the runtime went away first.
pub(crate) async fn off_thread<T: Send + 'static>(
    spawner: Option<&dyn Spawner>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let Some(spawner) = spawner else { return Some(work()) };
    let (done, answer) = oneshot::channel();
    spawner.blocking(Box::new(move || drop(done.send(work()))));
    answer.await.ok()
}
