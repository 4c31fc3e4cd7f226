//! The steps of one call, noted as it walks. Counts no ticks and keeps nothing while nobody observes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Progress, What,
    mark::Mark,
    page::{Handed, Tag, Whom},
    queue::Events,
    ticks::{Anchor, Tick},
};
use crate::policy::RuleRef;

/// What a call has noted and not yet handed over.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    noted: Option<Noted>,
}

#[derive(Debug)]
struct Noted {
    events: Events,
    began: Instant,
    first: u64,
    // When the steps that were handed over ended.
    since: Anchor,
    // When the last step ended.
    last: Tick,
    // One more than is kept: the place of a step that is handed over at once.
    marks: [Mark; ROOM + 1],
    len: usize,
    // The words for whoever permitted the call, where they are not the rule's own.
    by: Option<Arc<str>>,
}

/// The trail of a call, and whom its steps are about. Borrowed from the call: nothing is counted or copied for it.
pub(crate) struct Steps<'a> {
    trail: &'a mut Trail,
    of: Subject<'a>,
}

/// Whom steps are about, and the rule that let it run.
#[derive(Clone, Copy)]
struct Subject<'a> {
    whom: &'a dyn Whom,
    by: Option<&'a RuleRef>,
}

/// The steps of a call of a batch that is not rewritten, retried or asked about.
const ROOM: usize = 11;

impl Trail {
    /// Begins to note the steps of a call, where somebody observes.
    #[inline]
    pub(crate) fn begin(&mut self, events: &Events, at: Instant) {
        if !events.is_observed() {
            return;
        }
        let mut marks = [Mark::LISTED; ROOM + 1];
        marks[0] = Mark::PROPOSED;
        let (events, since, last) = (events.clone(), Anchor::BEGIN, Tick::ZERO);
        let first = Tick::first();
        self.noted = Some(Noted { events, began: at, first, since, last, marks, len: 1, by: None });
    }

    /// The trail as one about this call. `by` is the rule that has permitted it, where one has: it is borrowed until its
    /// step is handed over.
    pub(crate) fn about<'a>(&'a mut self, whom: &'a dyn Whom, by: Option<&'a RuleRef>) -> Steps<'a> {
        Steps { trail: self, of: Subject { whom, by } }
    }
}

impl Steps<'_> {
    /// Notes a step; it took as long as it is since the last one that was not brief.
    #[expect(
        clippy::inline_always,
        reason = "what is noted is known where it is, and only there a mark is made of it for nothing"
    )]
    #[inline(always)]
    pub(crate) fn note(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.trail.noted {
            noted.tick();
            noted.add(self.of, what());
        }
    }

    /// Notes a step that is shorter than counting its ticks.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn note_brief(&mut self, what: impl FnOnce() -> What) {
        if let Some(noted) = &mut self.trail.noted {
            noted.add(self.of, what());
        }
    }

    /// Notes that the call is permitted: by its rule, or in the words for it where it is not to be told as it stands.
    pub(crate) fn note_permitted(&mut self, words: impl FnOnce() -> Option<Arc<str>>) {
        if let Some(noted) = &mut self.trail.noted {
            noted.tick();
            match words() {
                None => noted.put(self.of, Mark::PERMITTED),
                Some(words) => noted.put_permit(self.of, words),
            }
        }
    }

    /// Notes that the call waited until now: the time since its last step belongs to none.
    pub(crate) fn note_waited(&mut self) {
        if let Some(noted) = &mut self.trail.noted {
            noted.tick();
            noted.put(self.of, Mark::WAITED);
        }
    }

    /// Notes that the body begins, for the first time.
    pub(crate) fn note_begins(&mut self) {
        if let Some(noted) = &mut self.trail.noted {
            noted.put(self.of, Mark::BEGUN);
        }
    }

    /// Notes that the body ended well.
    pub(crate) fn note_ends_well(&mut self) {
        if let Some(noted) = &mut self.trail.noted {
            noted.tick();
            noted.put(self.of, Mark::ENDED_WELL);
        }
    }

    /// Hands over what was noted.
    pub(crate) fn flush(&mut self) {
        if let Some(noted) = &mut self.trail.noted {
            noted.hand_over(self.of, None);
        }
    }

    /// Hands over the rest; nothing is noted after it. Says how long the call took: the clock is read once for both.
    pub(crate) fn end(&mut self) -> Option<Duration> {
        self.flush();
        let took = self.trail.noted.as_ref()?.since.nanos;
        self.trail.noted = None;
        Some(Duration::from_nanos(took))
    }

    /// What a running body tells of itself goes beside the trail, straight to the observers.
    /// `None` where nobody observes.
    pub(crate) fn beacon(&self) -> Option<Beacon> {
        let events = self.trail.noted.as_ref()?.events.clone();
        Some(Beacon { events, tag: self.of.whom.about().owned() })
    }
}

impl Noted {
    #[inline(never)]
    fn tick(&mut self) {
        self.last = Tick::since(self.first, self.began);
    }

    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn add(&mut self, of: Subject<'_>, what: What) {
        let Some(mark) = Mark::of(&what) else { return self.hand_over(of, Some(&what)) };
        // What fits a mark owns nothing, and to find that out again takes longer than the rest.
        std::mem::forget(what);
        self.put(of, mark);
    }

    /// A permit in other words than the rule's own; in a hand-over of its own where there are such words already.
    #[cold]
    fn put_permit(&mut self, of: Subject<'_>, words: Arc<str>) {
        if self.by.is_some() {
            self.hand_over(of, None);
        }
        self.put(of, Mark::PERMITTED);
        self.by = Some(words);
    }

    #[inline(never)]
    fn put(&mut self, of: Subject<'_>, mark: Mark) {
        if self.len == ROOM {
            self.hand_over(of, None);
        }
        self.marks[self.len] = mark.at(self.last);
        self.len += 1;
    }

    /// Hands over what was noted, and behind it a step that has words of its own. The clock is read here.
    fn hand_over(&mut self, of: Subject<'_>, listed: Option<&What>) {
        let (about, began) = (of.whom.about(), self.began);
        if self.len == 0 && listed.is_none() {
            return;
        }
        let now = nanos(began.elapsed());
        if listed.is_some() {
            // There is room: a full trail is handed over before anything is put into it.
            self.marks[self.len] = Mark::LISTED.at(self.last);
            self.len += 1;
        }
        let rule = of.by.filter(|rule| !rule.quotes()).map(|rule| &rule.text);
        let (since, marks, by) = (self.since, &self.marks[..self.len], self.by.as_ref().or(rule));
        self.events.hand_over(&Handed {
            about,
            began,
            since,
            now,
            marks,
            by,
            listed: listed.map(std::slice::from_ref).unwrap_or_default(),
        });
        (self.since, self.len, self.by) = (Anchor { tick: self.last, nanos: now }, 0, None);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Sends a body's progress to the observers.
#[derive(Debug)]
pub(crate) struct Beacon {
    events: Events,
    tag: Tag,
}

impl Beacon {
    pub(crate) fn progress(&self, progress: Progress) {
        self.events.tell_as(self.tag.about(), What::Progress(progress));
    }
}
