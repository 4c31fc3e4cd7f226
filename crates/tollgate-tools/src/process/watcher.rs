//! Threads that start processes and wait for their end. One that has entered a sandbox serves the next process of the
//! same one: to enter takes a third of what a shell takes to run, and what a thread gave up it never gets back.

use std::{
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use super::Inside;

/// Starts one process and waits for its end. What it hands back tells whoever waits; `None` where nothing started.
pub(super) type Task = Box<dyn FnOnce(Entered) -> Option<Telling> + Send>;
/// The last thing to do for a process: saying that it is over.
pub(super) type Telling = Box<dyn FnOnce() + Send>;

/// Whether the thread is inside already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entered {
    Already,
    NotYet,
}

/// A thread that waits for its next process.
struct Idle {
    inside: Inside,
    next: mpsc::Sender<Task>,
    number: u64,
}

/// So many wait for work at most, each so long.
const MOST: usize = 8;
const PATIENCE: Duration = Duration::from_secs(30);

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does it on a thread that is inside already, or on a new one. With `None` the thread is left to nobody else.
pub(super) fn give(inside: Option<Inside>, task: Task) -> io::Result<()> {
    let waiting = inside.and_then(|inside| {
        let mut idle = idle();
        let at = idle.iter().rposition(|one| one.inside == inside)?;
        Some(idle.remove(at))
    });
    let task = match waiting {
        None => task,
        // It is gone only where the machine ended it.
        Some(one) => match one.next.send(task) {
            Ok(()) => return Ok(()),
            Err(mpsc::SendError(task)) => task,
        },
    };
    let watcher = std::thread::Builder::new().name("tollgate-process".to_owned()).stack_size(256 << 10);
    watcher.spawn(move || serve(inside, task)).map(drop)
}

/// One process after the other, until nobody has one for so long.
fn serve(inside: Option<Inside>, first: Task) {
    let mut done = first(Entered::NotYet);
    while let Some(tell) = done {
        // Ready for the next before anybody is told: whoever was waiting may have one at once.
        let next = inside.map(offer);
        tell();
        let Some(task) = next.and_then(|(number, work)| receive(number, &work)) else { return };
        done = task(Entered::Already);
    }
}

/// Joins those who wait.
fn offer(inside: Inside) -> (u64, mpsc::Receiver<Task>) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (next, work) = mpsc::channel();
    let mut idle = idle();
    if idle.len() == MOST {
        // Its thread finds nobody at the other end, and goes.
        idle.remove(0);
    }
    idle.push(Idle { inside, next, number });
    (number, work)
}

fn receive(number: u64, work: &mpsc::Receiver<Task>) -> Option<Task> {
    match work.recv_timeout(PATIENCE) {
        Ok(task) => Some(task),
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let mut idle = idle();
            let before = idle.len();
            idle.retain(|one| one.number != number);
            let mine = idle.len() < before;
            drop(idle);
            // Somebody took it in this very moment, and has work.
            if mine { None } else { work.recv().ok() }
        }
    }
}
