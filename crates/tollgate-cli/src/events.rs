//! The event stream on stderr, one JSON object a line, written beside the call and never in its way.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tollgate::{Tollgate, event::Subscription};

/// How many hand-overs may wait while the terminal is slow.
const WAITING: usize = 1 << 16;

/// How often the writer looks.
const PAUSE: Duration = Duration::from_millis(5);

/// A thread that writes events until it is told that there will be no more.
pub(crate) struct Writer {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Begins to write what happens in `gate`.
    pub(crate) fn start(gate: &Tollgate) -> Self {
        let (over, mut events) = (Arc::new(AtomicBool::new(false)), gate.observe(WAITING));
        let told = over.clone();
        // It looks from time to time instead of waiting for the gate's end: a body that will not stop keeps the
        // gate alive, and must not keep this program.
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Acquire) {
                write(&mut events);
                std::thread::park_timeout(PAUSE);
            }
            write(&mut events);
        });
        Self { over, thread }
    }

    /// Writes what is left.
    pub(crate) fn finish(self) {
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

fn write(events: &mut Subscription) {
    let mut err = std::io::stderr().lock();
    // Nobody reads any more: the call goes on all the same.
    events.drain(|event| drop(serde_json::to_string(&event).map(|line| writeln!(err, "{line}"))));
}
