//! The person at the terminal: one conversation at a time, with the screen to itself.

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::{Mutex, MutexGuard, Notify};

use super::{
    keys::Key,
    tty::{Talk, Tty},
};
use crate::run::Screen;

mod ask;

/// Asks the person at the terminal.
#[derive(Clone)]
pub(crate) struct Terminal(Arc<Seat>);

/// A person's place, where one thing is asked at a time.
struct Seat {
    tty: Tty,
    // The screen has room for one question.
    turn: Mutex<()>,
    /// Somebody has something to ask, and whoever only overhears makes way.
    wanted: Notify,
    /// What else is shown on the same terminal, and makes room.
    screen: OnceLock<Screen>,
}

impl Terminal {
    pub(crate) fn new(tty: Tty) -> Self {
        Self(Arc::new(Seat { tty, turn: Mutex::new(()), wanted: Notify::new(), screen: OnceLock::new() }))
    }

    /// Shares the terminal with what shows a run.
    pub(crate) fn beside(&self, screen: &Screen) {
        let _ = self.0.screen.set(screen.clone());
    }

    /// Has a conversation with the person, alone. `None` where the terminal cannot be listened to.
    pub(crate) async fn with<T>(&self, about: impl AsyncFnOnce(&mut Talk<'_>) -> T) -> Option<T> {
        let _turn = self.0.turn().await;
        let _aside = self.0.screen.get().map(Screen::aside);
        let mut talk = self.0.tty.listen().ok()?;
        Some(about(&mut talk).await)
    }

    /// The same, where Ctrl-C (`None`) interrupts what asks.
    pub(crate) async fn with_or_interrupt<T>(
        &self,
        about: impl AsyncFnOnce(&mut Talk<'_>) -> Option<T>,
    ) -> Option<T> {
        let _turn = self.0.turn().await;
        let _aside = self.0.screen.get().map(Screen::aside);
        let mut talk = self.0.tty.listen().ok()?;
        match about(&mut talk).await {
            Some(said) => Some(said),
            None => interrupt(talk).await,
        }
    }

    /// Hands on every key that is no answer to anything, until `heard` breaks or the terminal is gone. Whoever asks
    /// has the keys first.
    pub(crate) async fn overhear<T>(&self, mut heard: impl FnMut(Key) -> ControlFlow<T>) -> Option<T> {
        loop {
            let _turn = self.0.turn.lock().await;
            if !self.0.tty.is_ours() {
                return None;
            }
            let mut talk = self.0.tty.listen().ok()?;
            loop {
                let key = tokio::select! {
                    biased;
                    () = self.0.wanted.notified() => break,
                    key = talk.key() => key,
                };
                if key == Key::Gone {
                    return None;
                }
                if let ControlFlow::Break(last) = heard(key) {
                    return Some(last);
                }
            }
        }
    }
}

impl Seat {
    /// The terminal for oneself. One who overhears is told once this stands in the queue, so that it comes next.
    async fn turn(&self) -> MutexGuard<'_, ()> {
        let mut lock = std::pin::pin!(self.turn.lock());
        let tell = async {
            self.wanted.notify_one();
            std::future::pending::<std::convert::Infallible>().await
        };
        tokio::select! {
            biased;
            turn = &mut lock => turn,
            never = tell => match never {},
        }
    }
}

/// Ctrl-C is no answer. It becomes the signal it is elsewhere, and whoever hears that gives the question up: nobody
/// hears, and the program ends.
async fn interrupt<T>(talk: Talk<'_>) -> T {
    drop(talk);
    let _ = kill_process(getpid(), Signal::INT);
    std::future::pending().await
}
