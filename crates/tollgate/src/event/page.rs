//! What waits for an observer: steps in order, and for each hand-over whom they are about.
//!
//! Nearly all of it is plain numbers and text. What calls share (their run, their tool, the rule that allowed them) is
//! kept once, so that the path and the observers do not pull at the same counters.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    What,
    mark::{Mark, Meaning},
    ticks::{Anchor, Tick},
};
use crate::tool::{CallId, RunId};

/// Whom steps are about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) call: Option<&'a CallId>,
    pub(crate) tool: Option<&'a Arc<str>>,
}

/// Who knows whom its steps are about; asked when they are handed over, and not before.
pub(crate) trait Whom: Sync {
    fn about(&self) -> About<'_>;
}

impl Whom for About<'_> {
    fn about(&self) -> About<'_> {
        *self
    }
}

/// The same, to keep.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) run: RunId,
    pub(super) call: Option<CallId>,
    pub(super) tool: Option<Arc<str>>,
}

impl About<'_> {
    pub(super) fn owned(self) -> Tag {
        Tag { run: self.run.clone(), call: self.call.cloned(), tool: self.tool.cloned() }
    }
}

impl Tag {
    pub(super) fn about(&self) -> About<'_> {
        About { run: &self.run, call: self.call.as_ref(), tool: self.tool.as_ref() }
    }
}

/// Steps on their way to observers.
pub(super) struct Handed<'a> {
    pub(super) about: About<'a>,
    /// When the call began; marks count from there.
    pub(super) began: Instant,
    /// When the step before the first one here ended.
    pub(super) since: Anchor,
    /// When these were handed over, in nanoseconds after the call began: that is the time of the last one.
    pub(super) now: u64,
    pub(super) marks: &'a [Mark],
    pub(super) by: Option<&'a Arc<str>>,
    pub(super) listed: &'a [What],
}

/// The steps that wait.
#[derive(Debug, Default)]
pub(super) struct Page {
    heads: Vec<Head>,
    marks: Vec<Mark>,
    listed: Vec<What>,
    ids: String,
    runs: Vec<RunId>,
    tools: Vec<Arc<str>>,
    permits: Vec<Arc<str>>,
}

#[derive(Debug)]
struct Head {
    began: Instant,
    since: Anchor,
    now: u64,
    run: u32,
    // Each `NONE` where there is none: one line of the cache for the whole.
    tool: u32,
    permit: u32,
    id: u32,
    marks: u32,
}

impl Page {
    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn push(&mut self, handed: &Handed<'_>) {
        let Handed { about, began, since, now, marks, by, listed } = *handed;
        let run = match self.runs.last() {
            Some(last) if last.is(about.run) => number(self.runs.len() - 1),
            _ => place(&mut self.runs, about.run, |known| known.is(about.run)),
        };
        let tool = about.tool.map_or(NONE, |tool| place_shared(&mut self.tools, tool));
        let permit = by.map_or(NONE, |by| place_shared(&mut self.permits, by));
        let id = about.call.map_or(NONE, |id| number(id.as_str().len()));
        self.heads.push(Head { began, since, now, run, tool, permit, id, marks: number(marks.len()) });
        self.marks.extend_from_slice(marks);
        if !listed.is_empty() {
            self.listed.extend_from_slice(listed);
        }
        self.ids.push_str(about.call.map_or("", CallId::as_str));
    }

    #[cold]
    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.marks.clear();
        self.listed.clear();
        self.ids.clear();
        self.runs.clear();
        self.tools.clear();
        self.permits.clear();
    }

    /// Shows every step: whom it is about, when it happened, how long it took.
    ///
    /// Counts nothing up or down: the path is busy with the same counters.
    pub(super) fn each(&self, mut see: impl FnMut(About<'_>, Instant, Duration, &What)) {
        let (mut marks, mut listed, mut ids) = (&self.marks[..], self.listed.iter(), self.ids.as_str());
        let permits: Vec<_> = self.permits.iter().map(|by| What::Permitted { by: by.clone() }).collect();
        // No step is left out, whoever forgot the words for it.
        let unnamed = What::Permitted { by: "nobody said by what".into() };
        for head in &self.heads {
            let (own, rest) = marks.split_at(head.marks as usize);
            let id = there(head.id);
            let (text, further) = ids.split_at(id.unwrap_or(0));
            (marks, ids) = (rest, further);
            let call = id.map(|_| CallId::new(text));
            let about = About {
                run: &self.runs[head.run as usize],
                call: call.as_ref(),
                tool: there(head.tool).map(|tool| &self.tools[tool]),
            };
            let end = Anchor { tick: own.last().map_or(Tick::ZERO, |mark| mark.tick()), nanos: head.now };
            let (mut since, time) = (Duration::from_nanos(head.since.nanos), head.since.until(end));
            for mark in own {
                let at = Duration::from_nanos(time(mark.tick()));
                let took = at.saturating_sub(since);
                let mut tell_took = |took: Duration, what: &What| see(about, head.began + at, took, what);
                let mut tell = |what: &What| tell_took(took, what);
                match mark.meaning() {
                    Meaning::Step(what) => tell(&what),
                    Meaning::Permitted => tell(there(head.permit).map_or(&unnamed, |by| &permits[by])),
                    Meaning::Listed => listed.next().into_iter().for_each(&mut tell),
                    Meaning::Waited => {}
                    // The first of the two is shorter than counting its ticks.
                    Meaning::Two(brief, what) => {
                        tell_took(Duration::ZERO, &brief);
                        tell_took(took, &what);
                    }
                }
                since = at;
            }
        }
    }

    /// The run that was spoken of last.
    pub(super) fn last_run(&self) -> Option<&RunId> {
        self.heads.last().map(|head| &self.runs[head.run as usize])
    }
}

/// In the place of a number: there is none.
const NONE: u32 = u32::MAX;

fn there(number: u32) -> Option<usize> {
    (number != NONE).then_some(number as usize)
}

/// How far back something is looked for that may be there already.
const NEAR: usize = 4;

/// The same for a text, which most often is the one that was spoken of last.
fn place_shared(all: &mut Vec<Arc<str>>, one: &Arc<str>) -> u32 {
    match all.last() {
        Some(last) if Arc::ptr_eq(last, one) => number(all.len() - 1),
        _ => place(all, one, |known| Arc::ptr_eq(known, one)),
    }
}

/// Where something that calls share stands; it is kept once more only where it was not spoken of lately.
#[cold]
fn place<T: Clone>(all: &mut Vec<T>, one: &T, same: impl Fn(&T) -> bool) -> u32 {
    let from = all.len().saturating_sub(NEAR);
    let at = all[from..].iter().rposition(same).map_or(all.len(), |at| from + at);
    if at == all.len() {
        all.push(one.clone());
    }
    number(at)
}

fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(NONE)
}
