//! The steps of one call, noted as it walks. Reads no clock and keeps nothing while nobody observes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Progress, What,
    mark::Mark,
    page::{Handed, Tag},
    queue::Events,
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
    tag: Tag,
    began: Instant,
    // When the steps that were handed over ended, and when the last one did, in nanoseconds since it began.
    since: u64,
    last: u64,
    marks: [Mark; ROOM],
    len: usize,
    by: Option<Arc<str>>,
}

/// The steps of a call that is not rewritten, retried or asked about.
const ROOM: usize = 12;

impl Trail {
    /// Begins to note the steps of a call that somebody observes.
    pub(crate) fn begin(events: Events, run: &RunId, call: &CallId, tool: &Arc<str>, at: Instant) -> Self {
        let tag = Tag { run: run.clone(), call: Some(call.clone()), tool: Some(tool.clone()) };
        let marks = [Mark::listed(0); ROOM];
        let mut noted = Noted { events, tag, began: at, since: 0, last: 0, marks, len: 0, by: None };
        noted.add(What::Proposed);
        Self { noted: Some(noted) }
    }

    /// Notes a step; it took as long as it is since the last clock read.
    #[expect(
        clippy::inline_always,
        reason = "what is noted is known where it is, and only there a mark is made of it for nothing"
    )]
    #[inline(always)]
    pub(crate) fn note(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.noted {
            noted.last = nanos(noted.began.elapsed());
            noted.add(what());
        }
    }

    /// Notes a step that is shorter than reading the clock.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn note_brief(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.noted {
            noted.add(what());
        }
    }

    /// Hands over what was noted.
    pub(crate) fn flush(&mut self) {
        if let Some(noted) = &mut self.noted {
            noted.hand_over(None);
        }
    }

    /// Hands over the rest; nothing is noted after it.
    pub(crate) fn end(&mut self) {
        self.noted = None;
    }

    /// When the last step was noted; saves a clock read where one was just made.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.noted.as_ref().map(|noted| noted.began + Duration::from_nanos(noted.last))
    }

    /// What a running body tells of itself goes beside the trail, straight to the observers.
    pub(crate) fn beacon(&self) -> Beacon {
        Beacon(self.noted.as_ref().map(|noted| (noted.events.clone(), noted.tag.clone())))
    }
}

impl Noted {
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn add(&mut self, what: What) {
        let Some(mark) = Mark::of(&what, self.last) else { return self.hand_over(Some(what)) };
        // Two permits in one hand-over would share the words.
        let again = matches!(what, What::Permitted { .. }) && self.by.is_some();
        if self.len == ROOM || again {
            self.hand_over(None);
        }
        if let What::Permitted { by } = what {
            self.by = Some(by);
        }
        self.marks[self.len] = mark;
        self.len += 1;
    }

    /// Hands over what was noted, and behind it a step that has words of its own.
    fn hand_over(&mut self, listed: Option<What>) {
        let began = self.began;
        let handed = |since, marks, by, listed| Handed { tag: &self.tag, began, since, marks, by, listed };
        let noted = &self.marks[..self.len];
        if !noted.is_empty() {
            self.events.hand_over(&handed(self.since, noted, self.by.as_ref(), &[]));
            self.since = noted.last().map_or(self.since, |mark| nanos(mark.after()));
        }
        if let Some(what) = listed {
            self.events.hand_over(&handed(self.since, &[Mark::listed(self.last)], None, &[what]));
            self.since = self.last;
        }
        (self.len, self.by) = (0, None);
    }
}

// A call that is dropped on its way still tells how far it came.
impl Drop for Noted {
    fn drop(&mut self) {
        self.hand_over(None);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Sends a body's progress to the observers.
#[derive(Debug)]
pub(crate) struct Beacon(Option<(Events, Tag)>);

impl Beacon {
    pub(crate) fn progress(&self, progress: Progress) {
        if let Some((events, tag)) = &self.0 {
            events.tell_as(tag, What::Progress(progress));
        }
    }
}
