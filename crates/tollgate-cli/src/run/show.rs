//! Where a run is shown: on a screen, as lines of JSON, or as its final answer alone.

use std::{io::Write as _, thread::JoinHandle, time::Duration};

use tokio::sync::mpsc;
use tollgate_agent::{AgentEvent, Handle, Listener, event::What};

use super::{
    account::Account,
    screen::{Expand, Screen},
    watch::Watcher,
};
use crate::{exit::Fault, words};

/// What becomes of events.
pub(crate) enum Show {
    Screen(Screen, Expand),
    /// One event a line on stdout.
    Json,
    /// Nothing before the end.
    Quiet,
}

/// A thread that shows events until nobody is left to tell any. A slow terminal slows it, and nothing else.
pub(crate) struct Shown {
    /// A task of the main agent is over and everything before that is shown.
    tasks: mpsc::UnboundedReceiver<()>,
    thread: JoinHandle<()>,
}

/// How often spinners turn.
const BEAT: Duration = Duration::from_millis(100);

impl Show {
    /// Begins to show what comes, and to note what it costs. Where nobody reads it any more, the run is brought to an end:
    /// nobody should pay for it.
    pub(crate) fn start(self, events: Listener, account: Account, handle: Handle) -> Result<Shown, Fault> {
        let (tell, tasks) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Handle::current();
        let thread = std::thread::Builder::new().name("tollgate-screen".to_owned());
        let thread = thread.spawn(move || runtime.block_on(self.follow(events, account, handle, &tell)));
        let thread = thread.map_err(|error| Fault::machine("starting", &error))?;
        Ok(Shown { tasks, thread })
    }

    async fn follow(
        self,
        mut events: Listener,
        mut account: Account,
        handle: Handle,
        tell: &mpsc::UnboundedSender<()>,
    ) {
        let mut handle = Some(handle);
        let mut place = match self {
            Self::Screen(screen, expand) => Place::Screen(screen.clone(), Watcher::new(screen, expand)),
            Self::Json => Place::Json(Reader::Listens),
            Self::Quiet => Place::Quiet,
        };
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            let event = tokio::select! {
                biased;
                event = events.next() => event,
                _ = beats.tick(), if matches!(place, Place::Screen(..)) => {
                    place.beat();
                    continue;
                }
            };
            let Some(event) = event else { break };
            let over = event.agent.is_none() && matches!(event.what, What::Stopped { .. });
            account.see(&event);
            place.see(event);
            if place.is_unread()
                && let Some(handle) = handle.take()
            {
                handle.interrupt();
            }
            if over {
                let _ = tell.send(());
            }
        }
        place.close();
    }
}

impl Shown {
    /// Waits until the task that just ended is on screen.
    pub(crate) async fn task(&mut self) {
        let _ = self.tasks.recv().await;
    }

    /// Waits for the end. Every teller must be gone.
    pub(crate) fn finish(self) {
        let _ = self.thread.join();
    }
}

enum Place {
    Screen(Screen, Watcher),
    Json(Reader),
    Quiet,
}

/// Whether somebody reads what is written.
#[derive(PartialEq, Eq)]
enum Reader {
    Listens,
    Gone,
}

impl Place {
    fn see(&mut self, event: AgentEvent) {
        match self {
            Self::Screen(_, watcher) => watcher.see(event),
            Self::Json(reader) => {
                let mut out = std::io::stdout().lock();
                if writeln!(out, "{}", words::json(&event)).and_then(|()| out.flush()).is_err() {
                    *reader = Reader::Gone;
                }
            }
            Self::Quiet => {}
        }
    }

    fn is_unread(&self) -> bool {
        match self {
            Self::Screen(screen, _) => screen.is_unread(),
            Self::Json(reader) => *reader == Reader::Gone,
            Self::Quiet => false,
        }
    }

    fn beat(&self) {
        if let Self::Screen(screen, _) = self {
            screen.beat();
        }
    }

    fn close(&self) {
        if let Self::Screen(screen, _) = self {
            screen.close();
        }
    }
}
