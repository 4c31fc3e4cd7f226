//! What the dispatch rule says of a turn, held against what happened.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use tokio::time::Instant;
use tollgate::{
    Settled,
    outcome::{RefusalCode, Status},
    tool::{
        Concurrency::{self, ReadOnly},
        Interrupt, OnFatal,
    },
};

use crate::world::{Mark, Sign};
use crate::{
    GRACE,
    plan::{How, Plan, Planned},
    seen::Seen,
};

/// Consecutive reads share a batch; everything else has one of its own.
pub(crate) fn batches(calls: &[Planned]) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut reading = false;
    for (at, call) in calls.iter().enumerate() {
        let reads = call.class() == Some(ReadOnly);
        if reads && reading {
            batches.last_mut().unwrap().end += 1;
        } else {
            batches.push(at..at + 1);
        }
        reading = reads;
    }
    batches
}

/// When a body was inside: places in the log, and the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) class: Concurrency,
    pub(crate) begin: usize,
    pub(crate) began: Instant,
    pub(crate) end: usize,
    pub(crate) ended: Instant,
}

/// One turn as it was planned, answered and seen from inside the bodies.
pub(crate) struct Turn<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) calls: Vec<Planned>,
    pub(crate) answers: &'a [Settled],
    pub(crate) spans: HashMap<String, Span>,
    pub(crate) rewritten: HashMap<String, usize>,
    pub(crate) stop: Option<(usize, Instant)>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(plan: &'a Plan, answers: &'a [Settled], marks: &[Mark]) -> Self {
        let (mut spans, mut rewritten, mut stop) = (HashMap::new(), HashMap::new(), None);
        for (place, mark) in marks.iter().enumerate().filter(|(_, mark)| mark.run == plan.run) {
            match mark.sign {
                Sign::Begin(class) => {
                    let span = Span { class, begin: place, began: mark.at, end: usize::MAX, ended: mark.at };
                    let twice = spans.insert(mark.call.clone(), span).is_some();
                    assert!(!twice, "{}: {} ran twice", plan.run, mark.call);
                }
                Sign::End => {
                    let span: &mut Span = spans.get_mut(&mark.call).unwrap();
                    (span.end, span.ended) = (place, mark.at);
                }
                Sign::Rewritten => drop(rewritten.insert(mark.call.clone(), place)),
                Sign::Stop => stop = Some((place, mark.at)),
            }
        }
        Self { plan, calls: plan.answered(), answers, spans, rewritten, stop }
    }

    pub(crate) fn judge(&self, seen: &mut Seen) {
        let asked: Vec<_> = self.calls.iter().map(|call| call.id.as_str()).collect();
        let told: Vec<_> = self.answers.iter().map(|answer| answer.id.as_str()).collect();
        assert_eq!(asked, told, "{}: one answer for each id, in call order", self.plan.run);
        for span in self.spans.values() {
            assert!(span.end < usize::MAX, "{}: a body never ended", self.plan.run);
        }
        if self.plan.written.is_some_and(|written| written.cut) {
            return self.was_cut(seen);
        }
        seen.shared_ids += self.plan.calls.len() - self.calls.len();
        let batches = batches(&self.calls);
        for batch in &batches {
            batch.clone().for_each(|at| self.answer_is_right(at, batch, seen));
            self.cap_is_kept_and_used(batch, seen);
            self.those_who_left_ran_right_after(batch, seen);
            self.nothing_starts_after_a_stop(batch, seen);
        }
        for pair in batches.windows(2) {
            for (before, after) in pairs(&pair[0], &pair[1]) {
                self.is_over_before(before, after, "batches run in order");
            }
        }
    }

    /// Nothing but reads had begun, and nothing is told of them.
    pub(crate) fn was_cut(&self, seen: &mut Seen) {
        let codes = self.answers.iter().map(|answer| answer.refusal().map(|refusal| refusal.code));
        assert!(codes.into_iter().all(|code| code == Some(RefusalCode::ProtocolError)), "{}", self.plan.run);
        assert!(self.spans.values().all(|span| span.class == ReadOnly), "{}", self.plan.run);
        seen.discarded += self.spans.len();
    }

    /// As planned, or stopped by something that may stop it; and it says whether it had started.
    pub(crate) fn answer_is_right(&self, at: usize, batch: &Range<usize>, seen: &mut Seen) {
        let (call, answer) = (&self.calls[at], &self.answers[at]);
        let span = self.spans.get(&call.id);
        let context = || format!("{} {call:?}\n{answer:?}\nstop {:?}", self.plan.run, self.plan.stop);
        assert_eq!(answer.attempts > 0, span.is_some(), "says whether it started: {}", context());
        if let Some(span) = span {
            assert_eq!(span.class, call.runs_as(), "runs as what it was judged: {}", context());
            let together = batch.len() > 1 && !self.left(at);
            // A read that begins early does not know yet whether others will join it.
            let early = self.plan.written.is_some() && batch.start == 0;
            assert!(answer.was_concurrent == together || early, "{}", context());
        }
        if !self.was_stopped(at) {
            let ended = (answer.status(), answer.refusal().map(|refusal| refusal.code));
            assert_eq!(ended, call.ending(), "{}", context());
            return;
        }
        match span {
            None => {
                seen.stopped_before_start += 1;
                let code = answer.refusal().map(|refusal| refusal.code);
                assert_eq!(code, Some(RefusalCode::Cancelled), "{}", context());
            }
            Some(span) => {
                let reads = span.class == ReadOnly;
                let status = if reads || call.work.heeds { Status::RetryableError } else { Status::Unknown };
                assert_eq!(answer.status(), status, "{}", context());
                seen.stopped_after_start += 1;
                seen.unknown += usize::from(status == Status::Unknown);
            }
        }
        // Who has left the batch is no sibling any more.
        let gone = self.rewritten.get(&call.id).filter(|_| self.left(at));
        let siblings = self.stopper(at, batch).is_some_and(|span| gone.is_none_or(|gone| *gone > span.end));
        seen.stopped_by_siblings += usize::from(siblings && self.stop.is_none());
        let outside = match self.plan.stop.filter(|_| self.stop.is_some()) {
            None => false,
            // A call that finishes first is kept from starting, never stopped.
            Some((_, How::NewMessage)) => call.tool.interrupt == Interrupt::Cancel || span.is_none(),
            Some(_) => true,
        };
        assert!(outside || siblings, "stopped by nothing that may: {}", context());
    }

    /// Ended other than planned.
    pub(crate) fn was_stopped(&self, at: usize) -> bool {
        let answer = &self.answers[at];
        let stopped = |text: &str| text == "told to stop" || text.contains("was interrupted after");
        answer.refusal().is_some_and(|refusal| refusal.code == RefusalCode::Cancelled)
            || answer.failure().is_some_and(|failure| stopped(&failure.message))
    }

    /// A sibling in the batch whose fatal end stops the others.
    pub(crate) fn stopper(&self, at: usize, batch: &Range<usize>) -> Option<Span> {
        let stops = |&other: &usize| {
            let fatal = self.answers[other].status() == Status::FatalError;
            other != at
                && fatal
                && self.calls[other].tool.on_fatal == OnFatal::StopSiblings
                && !self.left(other)
        };
        let spans = batch.clone().filter(stops).filter_map(|other| self.spans.get(&self.calls[other].id));
        spans.min_by_key(|span| span.end).copied()
    }

    /// A rewrite made it too dangerous for the reads it was among.
    pub(crate) fn left(&self, at: usize) -> bool {
        let shared = batches(&self.calls).iter().any(|batch| batch.contains(&at) && batch.len() > 1);
        shared && self.calls[at].runs_as() > ReadOnly
    }

    pub(crate) fn cap_is_kept_and_used(&self, batch: &Range<usize>, seen: &mut Seen) {
        let reads: Vec<_> = batch
            .clone()
            .filter_map(|at| self.spans.get(&self.calls[at].id).filter(|span| span.class == ReadOnly))
            .collect();
        let inside = |place: usize| reads.iter().filter(|s| s.begin <= place && place < s.end).count();
        let peak = reads.iter().map(|span| inside(span.begin)).max().unwrap_or(0);
        let cap = self.plan.cap;
        assert!(peak <= cap, "{}: {peak} at once, cap {cap}", self.plan.run);
        let calm = self.stop.is_none()
            && self.plan.written.is_none()
            && batch.clone().all(|at| {
                let Planned { work, fault, .. } = &self.calls[at];
                let runs = fault.is_none() && !work.refused && work.ponder_ms == 0;
                runs && self.calls[at].runs_as() == ReadOnly && self.stopper(at, batch).is_none()
            });
        if calm {
            assert_eq!(peak, cap.min(batch.len()), "{}: the cap is used", self.plan.run);
            seen.full_peaks += usize::from(peak == cap && peak > 2);
        }
    }

    pub(crate) fn those_who_left_ran_right_after(&self, batch: &Range<usize>, seen: &mut Seen) {
        let (left, stayed): (Vec<_>, Vec<_>) = batch.clone().partition(|at| self.left(*at));
        for &late in &left {
            seen.left += usize::from(self.spans.contains_key(&self.calls[late].id));
            stayed.iter().for_each(|&at| self.is_over_before(at, late, "runs right after its batch"));
        }
        for pair in left.windows(2) {
            self.is_over_before(pair[0], pair[1], "those who left keep their order");
        }
    }

    pub(crate) fn nothing_starts_after_a_stop(&self, batch: &Range<usize>, seen: &mut Seen) {
        for at in batch.clone() {
            let Some(span) = self.spans.get(&self.calls[at].id) else { continue };
            // A body that was on its way at that very moment may still look around.
            let too_late = |place: usize, moment: Instant| span.begin > place && span.began > moment;
            if let Some((place, moment)) = self.stop {
                assert!(!too_late(place, moment), "{}: {} began later", self.plan.run, self.calls[at].id);
                let message = matches!(self.plan.stop, Some((_, How::NewMessage)));
                let may_finish = message && self.calls[at].tool.interrupt == Interrupt::Block;
                let ended = may_finish || span.ended <= moment.max(span.began) + GRACE;
                assert!(ended, "{}: {} was not stopped", self.plan.run, self.calls[at].id);
                seen.finished_first += usize::from(span.ended > moment && !self.was_stopped(at));
            }
            if let Some(stopper) = self.stopper(at, batch).filter(|_| !self.left(at)) {
                let late = too_late(stopper.end, stopper.ended);
                assert!(!late, "{}: {} began after a fatal end", self.plan.run, self.calls[at].id);
            }
        }
    }

    pub(crate) fn is_over_before(&self, before: usize, after: usize, rule: &str) {
        let [first, then] = [before, after].map(|at| self.spans.get(&self.calls[at].id));
        let (Some(first), Some(then)) = (first, then) else { return };
        // A stopped body that would not hear of it is no longer waited for; its place keeps writes away.
        let over = first.end < then.begin || (self.was_stopped(before) && then.class == ReadOnly);
        let ids = (&self.calls[before].id, &self.calls[after].id);
        assert!(over, "{}: {rule}: {ids:?} {first:?} {then:?}", self.plan.run);
    }
}

pub(crate) fn pairs<'a>(
    before: &'a Range<usize>,
    after: &'a Range<usize>,
) -> impl Iterator<Item = (usize, usize)> {
    before.clone().flat_map(|before| after.clone().map(move |after| (before, after)))
}

pub(crate) fn nothing_shares_the_workspace_with_a_write(marks: &[Mark], seen: &mut Seen) {
    let mut inside: HashMap<(&str, &str), Concurrency> = HashMap::new();
    for mark in marks {
        let who = (mark.run.as_str(), mark.call.as_str());
        match mark.sign {
            Sign::Stop | Sign::Rewritten => {}
            Sign::End => drop(inside.remove(&who)),
            Sign::Begin(class) => {
                let alone = |class: Concurrency| class > ReadOnly;
                assert!(!alone(class) || inside.is_empty(), "{who:?} is not alone: {inside:?}");
                assert!(!inside.values().any(|class| alone(*class)), "{who:?} beside a write: {inside:?}");
                inside.insert(who, class);
                let runs: HashSet<_> = inside.keys().map(|(run, _)| run).collect();
                seen.dispatchers_at_once += usize::from(runs.len() > 1);
            }
        }
    }
}
