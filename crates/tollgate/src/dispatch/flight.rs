//! The calls of a batch that are under way: each comes back with its one answer.
//!
//! A call whose body runs is nothing but itself: nothing of its walk is kept in the meantime, no timer and no waker. Its
//! body tells the batch's inbox when it is done, and one watch is kept over all of them.

use std::{
    cell::Cell,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::Instant;

use super::{
    gather::{Ended, Gather, Waiting},
    watch::Watch,
};
use crate::call::{Batch, Call, Husk, Soon, Started};

/// How far a call came in one go.
pub(super) enum Step {
    /// To its body.
    Body(usize, Call<Started>),
    /// To its end.
    End(Ended),
}

/// A call whose body runs, and since when.
struct Aloft {
    call: Call<Started>,
    sent: Instant,
}

/// How long a body waits for others before it is given to the spawner: about as long as it takes to wake the thread that
/// will run it. That thread is woken once for all of them, and has nothing to do with a call that is still being walked.
const TOGETHER: Duration = Duration::from_micros(100);

/// The calls of a batch that have begun and are not answered yet.
pub(super) struct Flight<'a> {
    gather: &'a Gather<'a>,
    batch: &'a Arc<Batch>,
    // Those whose bodies run, by their place in the turn.
    calls: Vec<Option<Aloft>>,
    first: usize,
    aloft: usize,
    // Those that wait for anything else.
    waits: FuturesUnordered<BoxFuture<'a, Step>>,
    // Bodies that wait for the spawner with their place in the turn, and since when.
    bodies: Vec<(usize, BoxFuture<'static, ()>)>,
    held: Option<Instant>,
    // Bodies that run on the batch's own task.
    here: FuturesUnordered<BoxFuture<'static, ()>>,
    watch: Watch<'a>,
    told: Vec<usize>,
    // What is left of calls that have their answers.
    husks: Vec<Husk>,
    yielded: bool,
}

impl<'a> Flight<'a> {
    /// For `len` calls, from the place `first` of the turn on.
    pub(super) fn new(gather: &'a Gather<'a>, batch: &'a Arc<Batch>, first: usize, len: usize) -> Self {
        Self {
            gather,
            batch,
            calls: (0..len).map(|_| None).collect(),
            first,
            aloft: 0,
            waits: FuturesUnordered::new(),
            bodies: Vec::new(),
            held: None,
            here: FuturesUnordered::new(),
            watch: Watch::over(batch),
            told: Vec::new(),
            husks: Vec::new(),
            yielded: false,
        }
    }

    /// What is left of those that have their answers.
    pub(super) fn into_husks(self) -> Vec<Husk> {
        self.husks
    }

    /// How many calls are under way.
    pub(super) fn len(&self) -> usize {
        self.aloft + self.waits.len()
    }

    /// Begins with a call. Says so where that was also its end.
    pub(super) fn begin(&mut self, at: usize, call: Waiting) -> Option<Ended> {
        // What is left of others makes room for this one.
        self.husks.clear();
        self.walk(Soon::tried(Box::pin(self.gather.depart(at, call, self.batch))))
    }

    /// Hands out what has ended meanwhile; nothing, where no call is under way.
    pub(super) fn poll(&mut self, task: &mut Context<'_>, mut ended: impl FnMut(Ended)) -> Poll<()> {
        self.launch();
        // Where one body ended others are about to: they go first, and their answers are taken together.
        if !std::mem::replace(&mut self.yielded, true) && self.batch.inbox.has_some() {
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.yielded = false;
        let some = Cell::new(false);
        let mut ended = |one| {
            some.set(true);
            ended(one);
        };
        loop {
            while let Poll::Ready(Some(())) = self.here.poll_next_unpin(task) {}
            self.poll_bodies(task, &mut ended);
            // Until it is silent: a look may leave a later deadline behind, and nobody else wakes the task for that.
            while self.aloft > 0 && self.watch.poll(task) {
                self.look(&mut ended);
            }
            // An end may stop the others: whoever hears of it decides that before anything else begins.
            if some.get() || self.len() == 0 {
                return Poll::Ready(());
            }
            let Poll::Ready(Some(step)) = self.waits.poll_next_unpin(task) else {
                // Nobody waits for the thread now: what is left of others is not kept for as long as these take.
                self.husks.clear();
                return Poll::Pending;
            };
            self.take(step).into_iter().for_each(&mut ended);
            self.launch();
        }
    }

    /// Takes the answers of bodies that have told, until there are no more.
    fn poll_bodies(&mut self, task: &Context<'_>, ended: &mut impl FnMut(Ended)) {
        let mut told = std::mem::take(&mut self.told);
        while self.batch.inbox.poll_take(task, &mut told).is_ready() {
            told.drain(..).for_each(|at| self.land_now(at, ended));
        }
        self.told = told;
    }

    /// Something may have stopped calls, or a deadline is there: those it concerns are walked to their end.
    #[cold]
    fn look(&mut self, ended: &mut impl FnMut(Ended)) {
        let now = Instant::now();
        for at in 0..self.calls.len() {
            let Some(Aloft { call, sent }) = &self.calls[at] else { continue };
            let deadline = call.deadline(*sent);
            if deadline > now && !call.is_stopped() {
                self.watch.until(deadline);
            } else {
                self.land_now(at + self.first, ended);
            }
        }
    }

    /// Walks a call on, as far as it comes at once.
    fn walk(&mut self, step: Soon<'a, Step>) -> Option<Ended> {
        match step {
            Soon::Now(Some(step)) => self.take(step),
            // Not passed over: a call without an answer is worse than a turn that stops.
            Soon::Now(None) => Soon::spent(),
            Soon::Later(step) => {
                self.waits.push(step);
                self.launch();
                None
            }
        }
    }

    fn take(&mut self, step: Step) -> Option<Ended> {
        match step {
            Step::Body(at, call) => self.take_off(at, call),
            Step::End(ended) => {
                self.launch();
                Some(ended)
            }
        }
    }

    /// Sends a body off: to a task of its own, soon, or along with the batch, where quick ones end at once.
    fn take_off(&mut self, at: usize, mut call: Call<Started>) -> Option<Ended> {
        let Some(body) = call.send() else { return self.land(at, call, None) };
        let (sent, guards) = (Instant::now(), &self.gather.pipeline.guards);
        if guards.spawner.is_some() && !call.invocation().tool().inline {
            self.watch_over(at, call, sent);
            self.hold(at, body, sent);
            return None;
        }
        self.launch();
        match Soon::tried(body) {
            Soon::Now(_) => return self.land(at, call, Some(sent)),
            Soon::Later(body) => self.here.push(body),
        }
        self.watch_over(at, call, sent);
        None
    }

    fn watch_over(&mut self, at: usize, mut call: Call<Started>, sent: Instant) {
        call.release();
        self.watch.until(call.deadline(sent));
        self.calls[at - self.first] = Some(Aloft { call, sent });
        self.aloft += 1;
    }

    /// Keeps a body for the spawner, as long as calls with bodies follow each other quickly.
    fn hold(&mut self, at: usize, body: BoxFuture<'static, ()>, sent: Instant) {
        let since = *self.held.get_or_insert(sent);
        self.bodies.push((at, body));
        if sent >= since + TOGETHER {
            self.launch();
        }
    }

    /// Gives what is held to the spawner. Their time begins now: a walk that took long took none of it.
    ///
    /// What stopped the batch while they waited lets them go: their calls hear that they are gone, and say so.
    fn launch(&mut self) {
        self.held = None;
        if !self.bodies.is_empty() && self.batch.soft.is_cancelled() {
            return self.bodies.clear();
        }
        let Some(spawner) = self.gather.pipeline.guards.spawner.as_ref().filter(|_| !self.bodies.is_empty())
        else {
            return;
        };
        let now = Instant::now();
        let mut bodies = Vec::with_capacity(self.bodies.len());
        for (at, body) in self.bodies.drain(..) {
            if let Some(Aloft { sent, .. }) = &mut self.calls[at - self.first] {
                *sent = now;
            }
            bodies.push(body);
        }
        spawner.spawn_all(bodies);
    }

    /// Takes what has become of a body, or waits for that, and walks the call to its end.
    fn land(&mut self, at: usize, call: Call<Started>, sent: Option<Instant>) -> Option<Ended> {
        let (step, husk) = self.gather.arrive(at, call, sent);
        self.husks.extend(husk);
        self.walk(step)
    }

    /// The same for a call whose body runs.
    fn land_now(&mut self, at: usize, ended: &mut impl FnMut(Ended)) {
        if let Some(Aloft { call, sent }) = self.calls[at - self.first].take() {
            self.aloft -= 1;
            self.land(at, call, Some(sent)).into_iter().for_each(ended);
        }
    }
}
