//! How a running conversation is spoken to from outside: a message, an interruption, a second one.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tollgate::Interrupter;

use crate::history::Part;

/// Speaks to a conversation while it runs. Cheap to clone and to send elsewhere.
#[derive(Debug, Clone)]
pub struct Handle {
    control: Arc<Control>,
}

/// How much an interruption stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The model is stopped, tools that may be stopped are; the others finish, and nothing else begins.
    Gentle,
    /// Everything is stopped.
    Everything,
}

impl Handle {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Self { control }
    }

    /// Interrupts, as Ctrl-C does: the first time gently, the second time everything.
    pub fn interrupt(&self) -> Interruption {
        self.control.interrupt()
    }

    /// Says something. While tools run they are interrupted gently, and the message is said once they are answered.
    pub fn say(&self, parts: Vec<Part>) {
        self.control.say(parts);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Control {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    interrupts: u32,
    said: VecDeque<Vec<Part>>,
    /// Ends the request that is under way.
    asking: Option<CancellationToken>,
    /// Interrupts the calls that are under way.
    calling: Option<Interrupter>,
    /// Those it sent out.
    children: Vec<Weak<Control>>,
}

impl Control {
    pub(crate) fn interrupt(&self) -> Interruption {
        let mut state = self.lock();
        state.interrupts += 1;
        if let Some(asking) = &state.asking {
            asking.cancel();
        }
        let how = if state.interrupts == 1 { Interruption::Gentle } else { Interruption::Everything };
        match (&state.calling, how) {
            (Some(calling), Interruption::Gentle) => calling.new_message(),
            (Some(calling), Interruption::Everything) => calling.stop_everything(),
            (None, _) => {}
        }
        state.children.retain(|child| child.strong_count() > 0);
        let children = state.children.clone();
        drop(state);
        children.iter().filter_map(Weak::upgrade).for_each(|child| {
            child.interrupt();
        });
        self.changed.notify_one();
        how
    }

    pub(crate) fn say(&self, parts: Vec<Part>) {
        let mut state = self.lock();
        state.said.push_back(parts);
        if let Some(calling) = &state.calling {
            calling.new_message();
        }
        let children = if state.calling.is_some() { state.children.clone() } else { Vec::new() };
        drop(state);
        children.iter().filter_map(Weak::upgrade).for_each(|child| {
            child.interrupt();
        });
        self.changed.notify_one();
    }

    /// One that was sent out stops with whoever sent it.
    pub(crate) fn adopt(&self, child: &Arc<Self>) {
        let mut state = self.lock();
        state.children.retain(|child| child.strong_count() > 0);
        state.children.push(Arc::downgrade(child));
        let interrupts = state.interrupts;
        drop(state);
        for _ in 0..interrupts {
            child.interrupt();
        }
    }

    /// A request is under way. One that was interrupted before it began ends at once.
    pub(super) fn asking(&self, token: &CancellationToken) {
        let mut state = self.lock();
        if state.interrupts > 0 {
            token.cancel();
        }
        state.asking = Some(token.clone());
        state.calling = None;
    }

    /// Calls are under way. Ones that were interrupted before they began do not begin.
    pub(super) fn calling(&self, interrupter: Interrupter) {
        let mut state = self.lock();
        match state.interrupts {
            0 if state.said.is_empty() => {}
            0 | 1 => interrupter.new_message(),
            _ => interrupter.stop_everything(),
        }
        state.asking = None;
        state.calling = Some(interrupter);
    }

    /// Nothing is under way.
    pub(super) fn idle(&self) {
        let mut state = self.lock();
        state.asking = None;
        state.calling = None;
    }

    pub(super) fn take_said(&self) -> Vec<Vec<Part>> {
        self.lock().said.drain(..).collect()
    }

    pub(super) fn interrupts(&self) -> u32 {
        self.lock().interrupts
    }

    /// The next task begins without the interruptions of the last.
    pub(super) fn forget_interrupts(&self) {
        self.lock().interrupts = 0;
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
