//! What a body is sent on: its context and what it was asked for, in one place.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::validate::Invocation;
use crate::{
    event::{About, Whom},
    guard::{Place, Post, caught},
    outcome::{Failure, Output},
    tool::{Cx, Erased},
};

/// A body's context, and from phase 1 on what it is to do.
pub(crate) struct Errand {
    pub(super) cx: Cx,
    /// What a call is told by that was stopped before it had an invocation: the tool, or the name as proposed.
    pub(super) name: Option<Arc<str>>,
    pub(super) invocation: Option<Box<Invocation>>,
}

/// Where an errand is: in the call's own box, or shared with a body that has a task of its own and may outlive the
/// call.
pub(super) enum Held {
    Own(Errand),
    Shared(Arc<Shared>),
    /// Only while it moves from one to the other.
    Moving,
}

/// An errand that a body on a task of its own is on, and where it leaves its answer.
pub(super) struct Shared {
    errand: Errand,
    post: Post<(Ran, Place)>,
}

/// What a body answered, or what its panic said.
pub(crate) type Ran = Result<Result<Output, Failure>, String>;

/// The body's end of it. The place in the workspace goes along: it is free when the body ends, not when somebody stops
/// waiting for it.
pub(crate) struct Sent {
    shared: Arc<Shared>,
    place: Option<Place>,
}

/// The call's end: what came of the body, and its place; `None` where it is gone. Dropped, the body is let go.
pub(super) struct Awaited<'a>(&'a Shared);

impl Sent {
    pub(crate) fn errand(&self) -> &Errand {
        &self.shared.errand
    }

    /// Ready once nobody waits for the answer any more.
    pub(crate) fn poll_closed(&self, task: &Context<'_>) -> Poll<()> {
        self.shared.post.poll_closed(task)
    }

    pub(crate) fn answer(mut self, ran: Ran) {
        let Some(place) = self.place.take() else { return };
        if let Some((_, place)) = self.shared.post.send((ran, place)) {
            self.leave(place);
        }
        self.shared.errand.cx.tell_batch();
    }

    fn leave(&self, place: Place) {
        self.shared.errand.cx.workspace.leave(place);
    }
}

// A runtime that is shutting down takes the body along, and whoever waits hears of it. Whoever has answered says no more:
// the errand may be on its way again.
impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.leave(place);
            self.shared.post.leave();
            self.shared.errand.cx.tell_batch();
        }
    }
}

impl Future for Awaited<'_> {
    type Output = Option<(Ran, Place)>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.post.poll_answer(task)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

impl Shared {
    fn let_go(&self) {
        if let Some((_, place)) = self.post.close() {
            self.errand.cx.workspace.leave(place);
        }
    }
}

impl Errand {
    pub(crate) fn cx(&self) -> &Cx {
        &self.cx
    }

    /// What phase 1 made of the call. Only the phases after it ask.
    pub(crate) fn invocation(&self) -> &Invocation {
        match &self.invocation {
            Some(invocation) => invocation,
            None => self.unvalidated(),
        }
    }

    /// Lets go of what it was asked for. Somebody's arguments are in it, and what they do when they are dropped takes no
    /// answer along.
    pub(super) fn let_go(&mut self) {
        let invocation = self.invocation.take();
        let _ = caught(|| drop(invocation));
    }

    /// The tool that phase 0 found.
    pub(crate) fn tool(&self) -> &dyn Erased {
        &*self.invocation().tool.tool
    }

    #[cold]
    fn unvalidated(&self) -> ! {
        unreachable!("the call {} was never validated", self.cx.call_id())
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Whom for Errand {
    fn about(&self) -> About<'_> {
        let tool = || self.invocation.as_ref().map(|invocation| &invocation.tool.label);
        About { run: self.cx.run.id(), call: Some(self.cx.call_id()), tool: self.name.as_ref().or_else(tool) }
    }
}

impl Whom for Held {
    fn about(&self) -> About<'_> {
        (**self).about()
    }
}

impl Held {
    /// For a body on a task of its own, which gets the place in the workspace.
    pub(super) fn send(&mut self, place: Place) -> Sent {
        let shared = match std::mem::replace(self, Self::Moving) {
            Self::Own(errand) => Arc::new(Shared { errand, post: Post::default() }),
            Self::Shared(shared) => {
                // One that was sent before has come back: it had the place.
                shared.post.open();
                shared
            }
            Self::Moving => unreachable!("an errand was lost on its way"),
        };
        *self = Self::Shared(shared.clone());
        Sent { shared, place: Some(place) }
    }

    /// The answer of the body it was sent with.
    pub(super) fn awaited(&self) -> Option<Awaited<'_>> {
        match self {
            Self::Shared(shared) => Some(Awaited(shared)),
            Self::Own(_) | Self::Moving => None,
        }
    }

    /// What the body answered, and its place, where that is an output `wanted` takes; anything else stays where it is.
    pub(super) fn answered(&self, wanted: impl FnOnce(&Output) -> bool) -> Option<(Output, Place)> {
        let Self::Shared(shared) = self else { return None };
        shared.post.take_as(|answer| match answer {
            (Ok(Ok(output)), place) if wanted(&output) => Ok((output, place)),
            other => Err(other),
        })
    }

    /// Nobody waits for the body any more.
    pub(super) fn let_go(&self) {
        if let Self::Shared(shared) = self {
            shared.let_go();
        }
    }

    /// To be changed, which it is only before its body may see it.
    pub(super) fn own(&mut self) -> Option<&mut Errand> {
        match self {
            Self::Own(errand) => Some(errand),
            shared => shared.taken_back(),
        }
    }

    #[cold]
    fn taken_back(&mut self) -> Option<&mut Errand> {
        match self {
            Self::Shared(shared) => Arc::get_mut(shared).map(|shared| &mut shared.errand),
            Self::Own(_) | Self::Moving => None,
        }
    }

    // Apart, and cold for the layout's sake only: this is asked everywhere, and most often the errand is the call's own.
    #[cold]
    fn shared(&self) -> &Errand {
        match self {
            Self::Own(errand) => errand,
            Self::Shared(shared) => &shared.errand,
            Self::Moving => unreachable!("an errand was lost on its way"),
        }
    }
}

impl std::ops::Deref for Held {
    type Target = Errand;

    fn deref(&self) -> &Errand {
        match self {
            Self::Own(errand) => errand,
            shared => shared.shared(),
        }
    }
}
