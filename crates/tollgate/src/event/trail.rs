//! The steps of one call, noted as it walks. Reads no clock and keeps nothing while nobody observes.

use std::{sync::Arc, time::Instant};

use super::{
    Progress, What,
    queue::{Events, Step, Tag},
};
use crate::tool::{CallId, RunId};

/// What a call has noted and not yet handed over.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    noted: Option<Noted>,
}

#[derive(Debug)]
struct Noted {
    events: Events,
    // Given away with the last hand-over.
    tag: Option<Tag>,
    // When the steps that were handed over ended, and when the last one did.
    since: Instant,
    last: Instant,
    steps: Vec<Step>,
}

/// The steps of a call that is not rewritten, retried or asked about.
const USUAL_STEPS: usize = 12;

impl Trail {
    /// Begins to note the steps of a call that somebody observes.
    pub(crate) fn begin(events: Events, run: &RunId, call: &CallId, tool: &Arc<str>, at: Instant) -> Self {
        let tag = Tag { run: run.clone(), call: Some(call.clone()), tool: Some(tool.clone()) };
        let mut steps = Vec::with_capacity(USUAL_STEPS);
        steps.push(Step { at, what: What::Proposed });
        Self { noted: Some(Noted { events, tag: Some(tag), since: at, last: at, steps }) }
    }

    /// Notes a step; it took as long as it is since the last clock read.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.noted {
            let at = Instant::now();
            noted.last = at;
            noted.steps.push(Step { at, what: what() });
        }
    }

    /// Notes a step that is shorter than reading the clock.
    pub(crate) fn note_brief(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.noted {
            noted.steps.push(Step { at: noted.last, what: what() });
        }
    }

    /// Hands over what was noted.
    pub(crate) fn flush(&mut self) {
        if let Some(noted) = &mut self.noted {
            let tag = noted.tag.clone();
            noted.hand_over(tag);
        }
    }

    /// Hands over the rest; nothing is noted after it.
    pub(crate) fn end(&mut self) {
        self.noted = None;
    }

    /// When the last step was noted; saves a clock read where one was just made.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.noted.as_ref().map(|noted| noted.last)
    }

    /// What a running body tells of itself goes beside the trail, straight to the observers.
    pub(crate) fn beacon(&self) -> Beacon {
        Beacon(self.noted.as_ref().and_then(|noted| Some((noted.events.clone(), noted.tag.clone()?))))
    }
}

impl Noted {
    fn hand_over(&mut self, tag: Option<Tag>) {
        if let Some(tag) = tag.filter(|_| !self.steps.is_empty()) {
            self.events.hand_over(tag, self.since, &mut self.steps);
            self.since = self.last;
        }
    }
}

// A call that is dropped on its way still tells how far it came.
impl Drop for Noted {
    fn drop(&mut self) {
        let tag = self.tag.take();
        self.hand_over(tag);
    }
}

/// Sends a body's progress to the observers.
#[derive(Debug)]
pub(crate) struct Beacon(Option<(Events, Tag)>);

impl Beacon {
    pub(crate) fn progress(&self, progress: Progress) {
        if let Some((events, tag)) = &self.0 {
            let what = What::Progress(progress);
            let at = Instant::now();
            events.hand_over(tag.clone(), at, &mut vec![Step { at, what }]);
        }
    }
}
