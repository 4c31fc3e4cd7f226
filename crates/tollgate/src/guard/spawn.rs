//! The core starts no task by itself: it is given the one that may.

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, sync::oneshot};

/// Runs tasks and blocking work on behalf of the path.
pub trait Spawner: Send + Sync + 'static {
    /// Runs a task to its end, beside the caller.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Runs many tasks, each beside the caller and the others.
    fn spawn_all(&self, tasks: Vec<BoxFuture<'static, ()>>) {
        tasks.into_iter().for_each(|task| self.spawn(task));
    }

    /// Runs work that blocks a thread, on a thread that may be blocked.
    fn blocking(&self, work: Box<dyn FnOnce() + Send>);
}

/// So many tasks are spawned one by one.
const FEW: usize = 4;

/// Tasks on a tokio runtime: the one that calls, where it is one, for a gate may outlive the runtime it was made in.
#[derive(Debug, Clone)]
pub struct TokioSpawner(Handle);

impl TokioSpawner {
    /// The runtime of the calling task; `None` outside of one.
    pub fn current() -> Option<Self> {
        Handle::try_current().ok().map(Self)
    }

    fn here(&self) -> Handle {
        Handle::try_current().unwrap_or_else(|_| self.0.clone())
    }
}

impl Spawner for TokioSpawner {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.here().spawn(task);
    }

    /// Who spawns one wakes a thread that sleeps. Where that thread is put on the same processor (on virtual machines, most
    /// often) it takes the spawning one's place, runs the one task there is and sleeps again, for each of them anew. So one task
    /// of its own spawns them, from whatever thread takes it. The last comes behind it: of a thread's tasks the latest is not
    /// given away.
    fn spawn_all(&self, mut tasks: Vec<BoxFuture<'static, ()>>) {
        let here = self.here();
        let spawn = |task| drop(here.spawn(task));
        let last = if tasks.len() > FEW { tasks.pop() } else { None };
        let Some(last) = last else { return tasks.into_iter().for_each(spawn) };
        let own = here.clone();
        here.spawn(async move { tasks.into_iter().for_each(|task| drop(own.spawn(task))) });
        spawn(last);
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.here().spawn_blocking(work);
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
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn of_many_tasks_the_caller_spawns_two_and_each_runs_once() {
        let spawner = TokioSpawner::current().expect("a runtime");
        for many in [0, 1, FEW, FEW + 1, 1_000] {
            let ran = Arc::new(AtomicUsize::new(0));
            let task = |ran: Arc<AtomicUsize>| {
                async move {
                    ran.fetch_add(1, Ordering::Relaxed);
                }
                .boxed()
            };
            spawner.spawn_all((0..many).map(|_| task(ran.clone())).collect());
            let by_the_caller = spawner.0.metrics().num_alive_tasks();
            assert_eq!(by_the_caller, if many > FEW { 2 } else { many });
            while spawner.0.metrics().num_alive_tasks() > 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(ran.load(Ordering::Relaxed), many);
        }
    }
}
