//! What a body is sent on: its context and what it was asked for, in one place.

use std::sync::Arc;

use super::validate::Invocation;
use crate::{
    event::{About, Whom},
    tool::Cx,
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
    Shared(Arc<Errand>),
    /// Only while it moves from one to the other.
    Moving,
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

    #[cold]
    fn unvalidated(&self) -> ! {
        unreachable!("the call {} was never validated", self.cx.call_id())
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
    /// A handle for a task of its own.
    pub(super) fn share(&mut self) -> Arc<Errand> {
        let shared = match std::mem::replace(self, Self::Moving) {
            Self::Own(errand) => Arc::new(errand),
            Self::Shared(errand) => errand,
            Self::Moving => unreachable!("an errand was lost on its way"),
        };
        *self = Self::Shared(shared.clone());
        shared
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
            Self::Shared(errand) => Arc::get_mut(errand),
            Self::Own(_) | Self::Moving => None,
        }
    }

    // Apart, and cold for the layout's sake only: this is asked everywhere, and most often the errand is the call's own.
    #[cold]
    fn shared(&self) -> &Errand {
        match self {
            Self::Own(errand) => errand,
            Self::Shared(errand) => errand,
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
