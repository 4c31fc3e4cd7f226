//! A call on its way: driven by whoever waits for it, and by a task of its own once nobody does.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{runtime::Handle, task::JoinHandle};
use tollgate::{BoxFuture, Settled};

use crate::bell::Belled;

/// What is left of a call. Dropped before its end, it goes on by itself: a call that began is settled and recorded,
/// whoever hangs up.
///
/// A request whose answer is waited for needs no task beside the one that waits: each costs a hand-over or two.
pub(crate) struct Walk(State);

enum State {
    /// Whoever waits drives it. They have reasons of their own to look again, and then find that it was not rung.
    Here(Belled<BoxFuture<'static, Settled>>),
    /// It goes on whether anybody waits or not.
    Apart(JoinHandle<Settled>),
    Over,
}

/// The call came to no end: it failed in a way nobody thought of, or the gateway ended first.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Walk {
    /// Begins a call. What ends at once is there at once.
    pub(crate) fn begin(call: impl Future<Output = Settled> + Send + 'static) -> Result<Settled, Self> {
        let mut call = Belled::new(Box::pin(call) as BoxFuture<'static, Settled>);
        match call.begin() {
            Poll::Ready(settled) => Ok(settled),
            Poll::Pending => Err(Self(State::Here(call))),
        }
    }

    /// Lets it go on while nobody waits.
    pub(crate) fn let_go(&mut self) {
        match std::mem::replace(&mut self.0, State::Over) {
            State::Here(call) => {
                // Outside a runtime there is nobody to drive it, and the program is about to end.
                if let Ok(runtime) = Handle::try_current() {
                    self.0 = State::Apart(runtime.spawn(call.into_inner()));
                }
            }
            other => self.0 = other,
        }
    }
}

impl Future for Walk {
    type Output = Result<Settled, Stopped>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = match &mut self.0 {
            State::Here(call) => match catch_unwind(AssertUnwindSafe(|| Pin::new(call).poll(task))) {
                Ok(polled) => polled.map(Ok),
                Err(_) => Poll::Ready(Err(Stopped)),
            },
            State::Apart(call) => Pin::new(call).poll(task).map_err(|_| Stopped),
            State::Over => Poll::Ready(Err(Stopped)),
        };
        if polled.is_ready() {
            self.0 = State::Over;
        }
        polled
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        self.let_go();
    }
}
