//! Thousands of random turns, two dispatchers at a time in one workspace, against a simple model of the
//! dispatch rule.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as loudly as tests")]

#[path = "turns/mod.rs"]
mod world;

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    time::Duration,
};

use tokio::time::{Instant, sleep};
use tollgate::{
    Proposed, Settled, Tollgate,
    guard::Workspace,
    outcome::{RefusalCode, Status},
    tool::{
        Concurrency::{self, ReadOnly, Unsafe, WriteExclusive},
        Interrupt, OnFatal,
    },
};
use world::{End, Mark, Sign, Work, Worker, World};

const SEEDS: [u64; 4] = [1, 0x9E37_79B9, 0xDEAD_BEEF, 20_26];
const ROUNDS: usize = 250;
/// How long a body that was told to stop may take to end.
const GRACE: Duration = Duration::from_millis(251);
const CAPS: [usize; 5] = [1, 2, 3, 5, 10];

#[tokio::test(start_paused = true)]
async fn a_thousand_random_turns_keep_to_the_model() {
    let mut seen = Seen::default();
    for seed in SEEDS {
        let (mut dice, world, workspace) = (Dice(seed), World::default(), Workspace::new("/work"));
        let gates: Vec<[Tollgate; 2]> =
            CAPS.map(|cap| [(); 2].map(|()| world::builder(&world).max_concurrency(cap).build())).into();
        for round in 0..ROUNDS {
            world.forget();
            let [mine, theirs] = ["a", "b"].map(|side| {
                let cap = dice.below(CAPS.len());
                (cap, Plan::roll(&mut dice, CAPS[cap], format!("{seed}-{round}-{side}")))
            });
            let (my_answers, their_answers) = tokio::join!(
                play(&gates[mine.0][0], &mine.1, &world, &workspace),
                play(&gates[theirs.0][1], &theirs.1, &world, &workspace),
            );
            // What was stopped and would not hear of it has gone by now.
            sleep(Duration::from_secs(2)).await;
            let marks = world.marks();
            nothing_shares_the_workspace_with_a_write(&marks, &mut seen);
            Turn::new(&mine.1, &my_answers, &marks).judge(&mut seen);
            Turn::new(&theirs.1, &their_answers, &marks).judge(&mut seen);
        }
    }
    seen.everything();
}

async fn play(gate: &Tollgate, plan: &Plan, world: &World, workspace: &Workspace) -> Vec<Settled> {
    let scope = world::scope(&plan.run, workspace);
    sleep(Duration::from_millis(plan.begins_at)).await;
    let turn = gate.turn(&scope);
    let (interrupter, token) = (turn.interrupter(), scope.run.token().clone());
    let stopping = async {
        let Some((after, how)) = plan.stop else { return };
        sleep(Duration::from_millis(after)).await;
        world.mark(&plan.run, "", Sign::Stop);
        match how {
            How::RunCancelled => token.cancel(),
            How::NewMessage => interrupter.new_message(),
            How::StopEverything => interrupter.stop_everything(),
        }
    };
    let calls: Vec<_> = plan.calls.iter().map(Planned::proposed).collect();
    let running = async {
        let Some(Written { gap, cut }) = plan.written else { return turn.run(calls).await };
        let mut stream = turn.streaming();
        for call in calls {
            stream.push(call);
            sleep(Duration::from_millis(gap)).await;
        }
        if cut { stream.cut("The stream broke.").await } else { stream.finish().await }
    };
    tokio::join!(running, stopping).0
}

// ---- the plan -------------------------------------------------------------------------------------------

struct Plan {
    run: String,
    cap: usize,
    begins_at: u64,
    calls: Vec<Planned>,
    stop: Option<(u64, How)>,
    written: Option<Written>,
}

/// The calls come one by one, while the model is still writing.
#[derive(Debug, Clone, Copy)]
struct Written {
    gap: u64,
    cut: bool,
}

#[derive(Debug, Clone)]
struct Planned {
    id: String,
    tool: Worker,
    work: Work,
    fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    RunCancelled,
    NewMessage,
    StopEverything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    UnknownTool,
    InvalidArguments,
    SharedId,
}

impl Plan {
    fn roll(dice: &mut Dice, cap: usize, run: String) -> Self {
        let count = 1 + dice.below(16);
        let mut calls: Vec<_> = (0..count).map(|at| Planned::roll(dice, at)).collect();
        let written = dice.one_in(3).then(|| Written { gap: dice.upto(60), cut: dice.one_in(4) });
        // In a stream the first of two may have begun: that has a test of its own.
        if written.is_none() && dice.one_in(3) {
            let (first, again) = (dice.below(count), dice.below(count));
            calls[again].id = format!("c{first}");
        }
        let how = [How::RunCancelled, How::NewMessage, How::StopEverything][dice.below(3)];
        let stop = dice.one_in(2).then(|| (dice.upto(1_500), how));
        Self { run, cap, begins_at: dice.upto(300), calls, stop, written }
    }

    /// The calls that are answered: the first of each id, and what is wrong with it.
    fn answered(&self) -> Vec<Planned> {
        let mut kept: Vec<Planned> = Vec::new();
        for call in &self.calls {
            match kept.iter_mut().find(|earlier| earlier.id == call.id) {
                Some(earlier) => earlier.fault = Some(Fault::SharedId),
                None => kept.push(call.clone()),
            }
        }
        kept
    }
}

impl Planned {
    fn roll(dice: &mut Dice, at: usize) -> Self {
        let class = [ReadOnly, ReadOnly, ReadOnly, ReadOnly, ReadOnly, WriteExclusive, Unsafe];
        let end = [End::Fatal, End::Panic, End::Retryable];
        let longest = if dice.one_in(2) { 40 } else { 1_000 };
        let work = Work {
            class: class[dice.below(class.len())],
            becomes: dice.one_in(8).then(|| class[2 + dice.below(class.len() - 2)]),
            ms: 1 + dice.upto(longest),
            end: if dice.one_in(4) { end[dice.below(end.len())] } else { End::Ok },
            heeds: dice.one_in(4),
            refused: dice.one_in(12),
            ponder_ms: if dice.one_in(12) { dice.upto(300) } else { 0 },
        };
        let fault = dice
            .one_in(12)
            .then(|| if dice.one_in(2) { Fault::UnknownTool } else { Fault::InvalidArguments });
        let tool = Worker::all().nth(dice.below(8)).unwrap();
        Self { id: format!("c{at}"), tool, work, fault }
    }

    fn proposed(&self) -> Proposed {
        match self.fault {
            Some(Fault::UnknownTool) => Proposed::new(&self.id, "nobody", "{}"),
            Some(Fault::InvalidArguments) => Proposed::new(&self.id, self.tool.name(), r#"{"ms": "soon"}"#),
            _ => self.work.call(&self.id, self.tool),
        }
    }

    /// The class dispatch goes by; `None` where there is none to go by.
    fn class(&self) -> Option<Concurrency> {
        self.fault.is_none().then_some(self.work.class)
    }

    /// The class it runs as.
    fn runs_as(&self) -> Concurrency {
        self.work.becomes.unwrap_or(self.work.class)
    }

    /// How it ends where nobody stops it.
    fn ending(&self) -> (Status, Option<RefusalCode>) {
        let refused = |code| (Status::Refused, Some(code));
        match (self.fault, self.work.refused, self.work.end) {
            (Some(Fault::UnknownTool), ..) => refused(RefusalCode::UnknownTool),
            (Some(Fault::InvalidArguments), ..) => refused(RefusalCode::InvalidArguments),
            (Some(Fault::SharedId), ..) => refused(RefusalCode::ProtocolError),
            (None, true, _) => refused(RefusalCode::InvalidValue),
            (None, false, End::Ok) => (Status::Ok, None),
            (None, false, End::Fatal | End::Panic) => (Status::FatalError, None),
            (None, false, End::Retryable) => (Status::RetryableError, None),
        }
    }
}

// ---- the model ------------------------------------------------------------------------------------------

/// Consecutive reads share a batch; everything else has one of its own.
fn batches(calls: &[Planned]) -> Vec<Range<usize>> {
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
struct Span {
    class: Concurrency,
    begin: usize,
    began: Instant,
    end: usize,
    ended: Instant,
}

/// One turn as it was planned, answered and seen from inside the bodies.
struct Turn<'a> {
    plan: &'a Plan,
    calls: Vec<Planned>,
    answers: &'a [Settled],
    spans: HashMap<String, Span>,
    rewritten: HashMap<String, usize>,
    stop: Option<(usize, Instant)>,
}

impl<'a> Turn<'a> {
    fn new(plan: &'a Plan, answers: &'a [Settled], marks: &[Mark]) -> Self {
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

    fn judge(&self, seen: &mut Seen) {
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
    fn was_cut(&self, seen: &mut Seen) {
        let codes = self.answers.iter().map(|answer| answer.refusal().map(|refusal| refusal.code));
        assert!(codes.into_iter().all(|code| code == Some(RefusalCode::ProtocolError)), "{}", self.plan.run);
        assert!(self.spans.values().all(|span| span.class == ReadOnly), "{}", self.plan.run);
        seen.discarded += self.spans.len();
    }

    /// As planned, or stopped by something that may stop it; and it says whether it had started.
    fn answer_is_right(&self, at: usize, batch: &Range<usize>, seen: &mut Seen) {
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
    fn was_stopped(&self, at: usize) -> bool {
        let answer = &self.answers[at];
        let stopped = |text: &str| text == "told to stop" || text.contains("was interrupted after");
        answer.refusal().is_some_and(|refusal| refusal.code == RefusalCode::Cancelled)
            || answer.failure().is_some_and(|failure| stopped(&failure.message))
    }

    /// A sibling in the batch whose fatal end stops the others.
    fn stopper(&self, at: usize, batch: &Range<usize>) -> Option<Span> {
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
    fn left(&self, at: usize) -> bool {
        let shared = batches(&self.calls).iter().any(|batch| batch.contains(&at) && batch.len() > 1);
        shared && self.calls[at].runs_as() > ReadOnly
    }

    fn cap_is_kept_and_used(&self, batch: &Range<usize>, seen: &mut Seen) {
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

    fn those_who_left_ran_right_after(&self, batch: &Range<usize>, seen: &mut Seen) {
        let (left, stayed): (Vec<_>, Vec<_>) = batch.clone().partition(|at| self.left(*at));
        for &late in &left {
            seen.left += usize::from(self.spans.contains_key(&self.calls[late].id));
            stayed.iter().for_each(|&at| self.is_over_before(at, late, "runs right after its batch"));
        }
        for pair in left.windows(2) {
            self.is_over_before(pair[0], pair[1], "those who left keep their order");
        }
    }

    fn nothing_starts_after_a_stop(&self, batch: &Range<usize>, seen: &mut Seen) {
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

    fn is_over_before(&self, before: usize, after: usize, rule: &str) {
        let [first, then] = [before, after].map(|at| self.spans.get(&self.calls[at].id));
        let (Some(first), Some(then)) = (first, then) else { return };
        // A stopped body that would not hear of it is no longer waited for; its place keeps writes away.
        let over = first.end < then.begin || (self.was_stopped(before) && then.class == ReadOnly);
        let ids = (&self.calls[before].id, &self.calls[after].id);
        assert!(over, "{}: {rule}: {ids:?} {first:?} {then:?}", self.plan.run);
    }
}

fn pairs<'a>(before: &'a Range<usize>, after: &'a Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    before.clone().flat_map(|before| after.clone().map(move |after| (before, after)))
}

fn nothing_shares_the_workspace_with_a_write(marks: &[Mark], seen: &mut Seen) {
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

/// What the turns went through. A model that never saw a thing proves nothing about it.
#[derive(Debug, Default)]
struct Seen {
    shared_ids: usize,
    stopped_before_start: usize,
    stopped_after_start: usize,
    stopped_by_siblings: usize,
    unknown: usize,
    finished_first: usize,
    left: usize,
    full_peaks: usize,
    discarded: usize,
    dispatchers_at_once: usize,
}

impl Seen {
    fn everything(self) {
        println!("{self:?}");
        let Self {
            shared_ids,
            stopped_before_start,
            stopped_after_start,
            stopped_by_siblings,
            unknown,
            finished_first,
            left,
            full_peaks,
            discarded,
            dispatchers_at_once,
        } = self;
        let counts = [
            shared_ids,
            stopped_before_start,
            stopped_after_start,
            stopped_by_siblings,
            unknown,
            finished_first,
            left,
            full_peaks,
            discarded,
            dispatchers_at_once,
        ];
        assert!(counts.iter().all(|count| *count >= 20), "{counts:?}");
    }
}

/// A small xorshift: the same seed, the same turns.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn upto(&mut self, limit: u64) -> u64 {
        self.roll() % (limit + 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % limit as u64).unwrap()
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.roll().is_multiple_of(chances)
    }
}
