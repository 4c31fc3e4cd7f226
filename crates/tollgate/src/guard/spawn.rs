//! The core starts no task by itself: it is given the one that may.

use std::sync::Arc;

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

/// So many tasks are spawned one by one.
const FEW: usize = 4;

/// Runs many tasks, each beside the caller and the others.
///
/// Who spawns one wakes a thread that sleeps. Where that thread is put on the same processor (on virtual machines, most often)
/// it takes the spawning one's place, runs the one task there is and sleeps again, for each of them anew. So one task of its own
/// spawns them, from whatever thread takes it. The last comes behind it: of a thread's tasks the latest is not given away.
pub(crate) fn spawn_all(spawner: &Arc<dyn Spawner>, mut tasks: Vec<BoxFuture<'static, ()>>) {
    if tasks.len() > FEW
        && let Some(last) = tasks.pop()
    {
        let own = spawner.clone();
        spawner.spawn(Box::pin(async move { tasks.into_iter().for_each(|task| own.spawn(task)) }));
        spawner.spawn(last);
    } else {
        tasks.into_iter().for_each(|task| spawner.spawn(task));
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

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use futures_util::FutureExt;

    use super::*;

    /// Keeps what it is to run until somebody runs it.
    #[derive(Default)]
    struct Kept(Mutex<Vec<BoxFuture<'static, ()>>>);

    impl Kept {
        fn take(&self) -> Vec<BoxFuture<'static, ()>> {
            std::mem::take(&mut *self.0.lock().expect("no panic"))
        }
    }

    impl Spawner for Kept {
        fn spawn(&self, task: BoxFuture<'static, ()>) {
            self.0.lock().expect("no panic").push(task);
        }

        fn blocking(&self, _: Box<dyn FnOnce() + Send>) {}
    }

    #[test]
    fn of_many_tasks_the_caller_spawns_two_and_each_runs_once() {
        for many in [0, 1, FEW, FEW + 1, 1_000] {
            let (kept, ran) = (Arc::new(Kept::default()), Arc::new(AtomicUsize::new(0)));
            let spawner: Arc<dyn Spawner> = kept.clone();
            let task = |ran: Arc<AtomicUsize>| {
                async move {
                    ran.fetch_add(1, Ordering::Relaxed);
                }
                .boxed()
            };
            spawn_all(&spawner, (0..many).map(|_| task(ran.clone())).collect());
            let by_the_caller = kept.take();
            assert_eq!(by_the_caller.len(), if many > FEW { 2 } else { many });
            assert!(by_the_caller.into_iter().all(|task| task.now_or_never().is_some()));
            assert!(kept.take().into_iter().all(|task| task.now_or_never().is_some()));
            assert_eq!(ran.load(Ordering::Relaxed), many);
        }
    }
}
