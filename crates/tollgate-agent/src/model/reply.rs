//! An answer while it comes: waits, events, and one last step that is the whole turn or why there is none.

use std::{fmt, future::poll_fn, pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt as _, stream};
use tollgate::wire::{ModelTurn, TurnEvent};

use super::ModelError;

/// The answer to one [`Request`](super::Request). Nothing happens unless it is polled; dropping it hangs up.
pub struct Reply(Pin<Box<dyn Stream<Item = Step> + Send>>);

/// Something that happened on the way to a turn.
#[derive(Debug)]
pub enum Step {
    /// The request failed before anything came of it, and is made again after a while.
    Waiting(Waiting),
    /// More of the turn. It may still break.
    Event(TurnEvent),
    /// The turn is over, as whole as it will be; [`ModelTurn::stop`] says whether the model was done. The last step.
    Done(Box<ModelTurn>),
    /// There is no turn. The last step.
    Broken(Broken),
}

/// A request that will be made again.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// What went wrong.
    pub error: ModelError,
    /// How long until the next attempt.
    pub delay: Duration,
    /// The number of the next attempt; the first one was 1.
    pub attempt: u32,
    /// How many attempts there may be.
    pub of: u32,
}

/// An answer that never became a turn.
#[derive(Debug)]
pub struct Broken {
    /// What went wrong, and whether asking again may help.
    pub error: ModelError,
    /// What had come until then, its calls marked so that none of them runs; `None` where nothing had.
    pub partial: Option<Box<ModelTurn>>,
}

impl Reply {
    /// A reply of these steps, the last of which is [`Step::Done`] or [`Step::Broken`].
    pub fn new(steps: impl Stream<Item = Step> + Send + 'static) -> Self {
        Self(Box::pin(steps))
    }

    /// A reply that says at once that there is none.
    pub fn broken(error: ModelError) -> Self {
        Self::of(vec![Step::Broken(Broken { error, partial: None })])
    }

    /// A reply of steps that are known already.
    pub fn of(steps: Vec<Step>) -> Self {
        Self::new(stream::iter(steps))
    }

    /// The next step; `None` after the last one.
    pub async fn next(&mut self) -> Option<Step> {
        poll_fn(|cx| self.0.poll_next_unpin(cx)).await
    }

    /// The turn, for whom what happens on the way does not matter.
    pub async fn turn(mut self) -> Result<ModelTurn, Broken> {
        while let Some(step) = self.next().await {
            match step {
                Step::Done(turn) => return Ok(*turn),
                Step::Broken(broken) => return Err(broken),
                Step::Waiting(_) | Step::Event(_) => {}
            }
        }
        Err(Broken { error: ModelError::cut("the reply ended without its last step"), partial: None })
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

impl Stream for Reply {
    type Item = Step;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Option<Step>> {
        self.0.poll_next_unpin(cx)
    }
}
