//! The steps of each call, as observers are told them, kept beside its records. A slow disk may miss some; it says so.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tollgate::{
    Tollgate,
    event::{Event, What},
    outcome::Redactor,
    tool::{CallId, RunId},
};

use crate::{LazyStore, Store, book::Tally};

/// How many hand-overs may wait.
const WAITING: usize = 1 << 14;

/// How often it looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Keeps steps until it is told that there will be no more.
pub struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl LazyStore {
    /// Begins to keep the steps of this gate's calls.
    pub fn watch(&self, gate: &Tollgate) -> Watch {
        let (over, mut events) = (Arc::new(AtomicBool::new(false)), gate.observe(WAITING));
        let (told, store) = (over.clone(), self.clone());
        let thread = std::thread::spawn(move || {
            let mut open = Open::default();
            // The usual eyes: nobody is given others by a store that opens when it is needed.
            let redactor = Redactor::new();
            loop {
                let last = told.load(Ordering::Acquire);
                // A store that does not open keeps nothing; the calls themselves are told.
                events.drain(|event| {
                    if let Some((run, line)) = note(&mut open, &event, &redactor)
                        && let Ok(store) = store.get()
                    {
                        keep(store, &run, &line);
                    }
                });
                if last {
                    return;
                }
                std::thread::park_timeout(PAUSE);
            }
        });
        Watch { over, thread }
    }
}

impl Watch {
    /// Keeps what is left.
    pub fn finish(self) {
        self.over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

fn keep(store: &Store, run: &RunId, line: &[u8]) {
    // Where there is no room, steps are what can be done without.
    let _ = store.inner.desk.queue.note(run, line, 1, Tally::default());
}

/// The steps of one call that have come so far, as the inside of a JSON list.
type Open = HashMap<(RunId, CallId), Vec<u8>, foldhash::fast::RandomState>;

/// Bytes that the steps of a call take which is not asked about, retried or refused.
const USUAL_STEPS: usize = 1024;

/// Adds a step; gives the whole record once the call has its end.
fn note(open: &mut Open, event: &Event<'_>, redactor: &Redactor) -> Option<(RunId, Vec<u8>)> {
    let at = event.at_ms;
    let Some(call) = event.call else {
        let mut line = format!(r#"{{"r":"turn","at":{at},"steps":"#).into_bytes();
        tell(&mut line, event.what, redactor)?;
        line.extend_from_slice(b"}\n");
        return Some((event.run.clone(), line));
    };
    // What the executor says of every body is in the steps around it.
    if let What::Progress(progress) = event.what
        && progress.message.is_empty()
    {
        return None;
    }
    let steps =
        open.entry((event.run.clone(), call.clone())).or_insert_with(|| Vec::with_capacity(USUAL_STEPS));
    if !steps.is_empty() {
        steps.push(b',');
    }
    let tenths = u64::try_from(event.took.as_nanos()).unwrap_or(u64::MAX) / 100;
    steps.extend_from_slice(br#"{"us":"#);
    serde_json::to_writer(&mut *steps, &(tenths / 10)).ok()?;
    steps.push(b'.');
    serde_json::to_writer(&mut *steps, &(tenths % 10)).ok()?;
    steps.extend_from_slice(br#","is":"#);
    tell(steps, event.what, redactor)?;
    steps.push(b'}');
    if !matches!(event.what, What::Settled { .. }) {
        return None;
    }
    let (key, steps) = open.remove_entry(&(event.run.clone(), call.clone()))?;
    let mut line =
        format!(r#"{{"r":"steps","at":{at},"c":{},"steps":["#, serde_json::to_string(key.1.as_str()).ok()?)
            .into_bytes();
    line.extend_from_slice(&steps);
    line.extend_from_slice(b"]}\n");
    Some((key.0, line))
}

/// A step as JSON. Words of tools, hooks, rules and errors may hold secrets; the other steps have none of their own.
fn tell(out: &mut Vec<u8>, what: &What, redactor: &Redactor) -> Option<()> {
    let worded = match what {
        What::Progress(progress) => !progress.message.is_empty(),
        What::Executed { chain, .. } => !chain.is_empty(),
        What::Asked { rule } => rule.is_some(),
        // A rule quotes arguments only where it is for exactly one call.
        What::Permitted { by } => matches!(redactor.text(by), Cow::Owned(_)),
        What::Hook(_) | What::LedgerFault { .. } | What::Fault { .. } | What::StoreFault { .. } => true,
        _ => false,
    };
    if !worded {
        return serde_json::to_writer(out, what).ok();
    }
    let mut words = serde_json::to_value(what).ok()?;
    redactor.value(&mut words);
    serde_json::to_writer(out, &words).ok()
}
