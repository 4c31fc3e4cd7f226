//! The steps of one call, noted as it walks. Reads no clock and keeps nothing while nobody observes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Progress, What,
    mark::Mark,
    page::{About, Handed, Tag},
    queue::Events,
};

/// What a call has noted and not yet handed over.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    noted: Option<Noted>,
}

#[derive(Debug)]
struct Noted {
    events: Events,
    began: Instant,
    // When the steps that were handed over ended, and when the last one did, in nanoseconds since it began.
    since: u64,
    last: u64,
    marks: [Mark; ROOM],
    len: usize,
    by: Option<Arc<str>>,
}

/// The trail of a call, and whom its steps are about. Borrowed from the call: nothing is counted or copied for it.
pub(crate) struct Steps<'a> {
    trail: &'a mut Trail,
    about: About<'a>,
}

/// The steps of a call that is not rewritten, retried or asked about.
const ROOM: usize = 12;

impl Trail {
    /// Begins to note the steps of a call, where somebody observes.
    pub(crate) fn begin(events: &Events, at: Instant) -> Self {
        if !events.is_observed() {
            return Self::default();
        }
        let mut marks = [Mark::listed(0); ROOM];
        marks[0] = Mark::PROPOSED;
        let noted = Noted { events: events.clone(), began: at, since: 0, last: 0, marks, len: 1, by: None };
        Self { noted: Some(noted) }
    }

    /// The trail as one about this call.
    pub(crate) fn about<'a>(&'a mut self, about: About<'a>) -> Steps<'a> {
        Steps { trail: self, about }
    }
}

impl Steps<'_> {
    /// Notes a step; it took as long as it is since the last clock read.
    #[expect(
        clippy::inline_always,
        reason = "what is noted is known where it is, and only there a mark is made of it for nothing"
    )]
    #[inline(always)]
    pub(crate) fn note(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.trail.noted {
            noted.last = nanos(noted.began.elapsed());
            noted.add(self.about, what());
        }
    }

    /// Notes a step that is shorter than reading the clock.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn note_brief(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.trail.noted {
            noted.add(self.about, what());
        }
    }

    /// Hands over what was noted.
    pub(crate) fn flush(&mut self) {
        if let Some(noted) = &mut self.trail.noted {
            noted.hand_over(self.about, None);
        }
    }

    /// Hands over the rest; nothing is noted after it. Says when the last step was noted: that saves a clock read.
    pub(crate) fn end(&mut self) -> Option<Instant> {
        self.flush();
        let noted = self.trail.noted.take()?;
        Some(noted.began + Duration::from_nanos(noted.last))
    }

    /// What a running body tells of itself goes beside the trail, straight to the observers.
    pub(crate) fn beacon(&self) -> Beacon {
        Beacon(self.trail.noted.as_ref().map(|noted| (noted.events.clone(), self.about.owned())))
    }
}

impl Noted {
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn add(&mut self, about: About<'_>, what: What) {
        let Some(mark) = Mark::of(&what, self.last) else { return self.hand_over(about, Some(what)) };
        // Two permits in one hand-over would share the words.
        let again = matches!(what, What::Permitted { .. }) && self.by.is_some();
        if self.len == ROOM || again {
            self.hand_over(about, None);
        }
        match what {
            What::Permitted { by } => self.by = Some(by),
            // What fits a mark owns nothing, and to find that out again takes longer than the rest.
            other => std::mem::forget(other),
        }
        self.marks[self.len] = mark;
        self.len += 1;
    }

    /// Hands over what was noted, and behind it a step that has words of its own.
    fn hand_over(&mut self, about: About<'_>, listed: Option<What>) {
        let began = self.began;
        let handed = |since, marks, by, listed| Handed { about, began, since, marks, by, listed };
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

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Sends a body's progress to the observers.
#[derive(Debug)]
pub(crate) struct Beacon(Option<(Events, Tag)>);

impl Beacon {
    pub(crate) fn progress(&self, progress: Progress) {
        if let Some((events, tag)) = &self.0 {
            events.tell_as(tag.about(), What::Progress(progress));
        }
    }
}
