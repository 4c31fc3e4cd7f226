//! Runs batches in order and gathers one answer per call, in call order.

use std::{future::poll_fn, sync::Arc};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    flight::{Flight, Step},
    partition::partition,
    turn::{Stop, Teller, tell},
};
use crate::{
    call::{Batch, Call, Husk, Lane, Refused, Soon, Started, Validated, soon},
    event::{BatchBegins, Events, What},
    guard::Run,
    outcome::{Settled, Status},
    pipeline::{Departed, Pipeline, Walked},
    tool::{CallId, Concurrency, OnFatal, Scope},
};

/// A call after phases 0 and 1, waiting for its turn.
pub(crate) enum Waiting {
    /// Refused already; still to be settled in its place.
    Refused(Refused),
    /// Ready to walk on.
    Valid(Call<Validated>),
    /// Began while the model was still writing; its answer is on its way.
    Eager(Box<Eager>),
}

impl Waiting {
    pub(crate) fn of(begun: Result<Call<Validated>, Refused>) -> Self {
        begun.map_or_else(Self::Refused, Self::Valid)
    }
}

pub(crate) struct Eager {
    pub(crate) id: CallId,
    pub(crate) answer: tokio::sync::oneshot::Receiver<Walked>,
    pub(crate) on_fatal: OnFatal,
    /// Its own, so that it can be stopped without the others of its batch.
    pub(crate) lane: Lane,
}

/// What a turn's batches share.
pub(crate) struct Gather<'a> {
    pub(crate) pipeline: &'a Arc<Pipeline>,
    pub(crate) scope: &'a Arc<Scope>,
    pub(crate) events: &'a Events,
    pub(crate) cap: usize,
    pub(crate) stop: &'a Stop,
    /// The tokens of a batch that began while the model was still writing.
    pub(crate) begun: Option<(CancellationToken, CancellationToken)>,
    pub(super) teller: Option<&'a Teller>,
}

/// One answer per waiting call, in their order, and what is left of the last calls: out of every cache by now, and nothing
/// that whoever has the answers should wait for.
pub(crate) struct Gathered {
    pub(crate) answers: Vec<Settled>,
    pub(crate) husks: Vec<Husk>,
}

impl Gather<'_> {
    /// Runs the batches in order.
    pub(crate) async fn run(&self, waiting: Vec<Waiting>) -> Gathered {
        let classes: Vec<_> = waiting.iter().map(Waiting::class).collect();
        let mut answers: Vec<Option<Settled>> = waiting.iter().map(|_| None).collect();
        let mut waiting: Vec<_> = waiting.into_iter().map(Some).collect();
        let mut husks = Vec::new();
        for (index, places) in partition(&classes).into_iter().enumerate() {
            let batch: Vec<_> = places.filter_map(|at| waiting[at].take().map(|call| (at, call))).collect();
            let calls = || batch.iter().map(|(_, call)| call.id().clone()).collect();
            self.events.tell_with(self.scope.run.id(), || {
                What::Batch(Box::new(BatchBegins { index, calls: calls() }))
            });
            husks.clear();
            husks = self.batch(batch, &mut answers).await;
        }
        Gathered { answers: answers.into_iter().flatten().collect(), husks }
    }

    async fn batch(&self, calls: Vec<(usize, Waiting)>, answers: &mut [Option<Settled>]) -> Vec<Husk> {
        let (token, soft) = self.tokens(&calls);
        let batch = Arc::new(Batch::new(token, soft, calls.len() > 1));
        let first = calls.first().map_or(0, |(at, _)| *at);
        let mut flight = Flight::new(self, &batch, first, calls.len());
        let mut done = Done { answers, leaving: Vec::new() };
        let mut queue = calls.into_iter();
        loop {
            while flight.len() < self.cap
                && let Some((at, call)) = queue.next()
            {
                let ended = flight.begin(at, call);
                ended.into_iter().for_each(|ended| self.take(ended, &batch, &mut done));
            }
            if flight.len() == 0 {
                break;
            }
            poll_fn(|task| flight.poll(task, |ended| self.take(ended, &batch, &mut done))).await;
        }
        let mut husks = flight.into_husks();
        let Done { answers, mut leaving } = done;
        if !leaving.is_empty() {
            husks.clear();
        }
        leaving.sort_by_key(|(at, _)| *at);
        for (at, call) in leaving {
            // Boxed: few calls leave, and every turn would carry the room for one that does.
            if let Walked::Settled(settled) = Box::pin(self.alone(call)).await {
                self.tell(&settled, false);
                answers[at] = Some(settled);
            }
        }
        husks
    }

    fn take(&self, ended: Ended, batch: &Batch, done: &mut Done<'_>) {
        let Ended { at, on_fatal, told, walked } = ended;
        match walked {
            Walked::Leaves(call) => done.leaving.push((at, call)),
            Walked::Settled(settled) => {
                self.tell(&settled, told);
                if stops_siblings(on_fatal, &settled, &self.scope.run) {
                    batch.token.cancel();
                }
                done.answers[at] = Some(settled);
            }
        }
    }

    fn tell(&self, settled: &Settled, told: bool) {
        if let Some(teller) = self.teller.filter(|_| !told) {
            tell(teller, settled, self.scope.run.id(), self.events);
        }
    }

    /// What a rewrite made too dangerous for its batch runs right after it, and what stopped the batch does
    /// not concern it any more.
    async fn alone(&self, mut call: Call<Validated>) -> Walked {
        let (token, soft) = self.new_tokens();
        let batch = Arc::new(Batch::new(token, soft, false));
        if Self::is_stopped(&batch) {
            return Walked::Settled(call.cancel().settle(&self.pipeline.records).await);
        }
        call.waited();
        call.lane(Lane::new(&batch, 0, call.invocation().tool().interrupt));
        self.pipeline.walk(call, Concurrency::Unsafe).await
    }

    fn tokens(&self, batch: &[(usize, Waiting)]) -> (CancellationToken, CancellationToken) {
        let begun = batch.iter().any(|(_, call)| matches!(call, Waiting::Eager(_)));
        if let Some((token, soft)) = self.begun.as_ref().filter(|_| begun) {
            return (token.clone(), soft.clone());
        }
        self.new_tokens()
    }

    fn new_tokens(&self) -> (CancellationToken, CancellationToken) {
        let token = self.scope.run.token().child_token();
        let soft = self.stop.begin_batch(&token);
        (token, soft)
    }

    fn is_stopped(batch: &Batch) -> bool {
        // A new message cancels it, and whatever stops the batch does.
        batch.soft.is_cancelled()
    }

    /// The first half of a call's way, up to its body.
    pub(super) async fn depart(&self, at: usize, call: Waiting, batch: &Arc<Batch>) -> Step {
        let (on_fatal, told) = (call.on_fatal(), matches!(call, Waiting::Eager(_)));
        let ended = |walked| Step::End(Ended { at, on_fatal, told, walked });
        let mut call = match call {
            Waiting::Eager(eager) => return ended(eager.answer().await),
            Waiting::Refused(refused) => {
                return ended(Walked::Settled(soon!(refused.settle(&self.pipeline.records))));
            }
            Waiting::Valid(call) if Self::is_stopped(batch) => {
                return ended(Walked::Settled(soon!(call.cancel().settle(&self.pipeline.records))));
            }
            Waiting::Valid(call) => call,
        };
        call.waited();
        // Whatever it does with a new message once it runs, it does not start after one.
        call.lane(Lane::new(batch, at, call.invocation().tool().interrupt));
        let within = if batch.concurrent { Concurrency::ReadOnly } else { Concurrency::Unsafe };
        match self.pipeline.depart(call, within).await {
            Departed::Started(call) => Step::Body(at, call),
            Departed::Walked(walked) => ended(walked),
        }
    }

    /// The second half, from its body on.
    pub(super) fn arrive(
        &self,
        at: usize,
        call: Call<Started>,
        sent: Option<Instant>,
    ) -> (Soon<'_, Step>, Option<Husk>) {
        let on_fatal = call.invocation().tool().on_fatal;
        let ended =
            move |settled| Step::End(Ended { at, on_fatal, told: false, walked: Walked::Settled(settled) });
        let (settled, husk) = self.pipeline.arrive(call, sent);
        let step = match settled {
            Soon::Now(settled) => Soon::Now(settled.map(ended)),
            Soon::Later(settled) => Soon::later(async move { ended(settled.await) }),
        };
        (step, husk)
    }
}

/// Where the walk of one call of a batch ended.
pub(super) struct Ended {
    at: usize,
    on_fatal: OnFatal,
    // An early one told of itself when it ended.
    told: bool,
    walked: Walked,
}

/// What came of a batch so far.
struct Done<'a> {
    // Of the whole turn, by their places.
    answers: &'a mut [Option<Settled>],
    leaving: Vec<(usize, Call<Validated>)>,
}

/// A fatal end of a tool that says so, or a budget that is used up, stops the others of the batch.
pub(super) fn stops_siblings(on_fatal: OnFatal, settled: &Settled, run: &Run) -> bool {
    let fatal = on_fatal == OnFatal::StopSiblings && settled.status() == Status::FatalError;
    fatal || run.purse().is_spent()
}

impl Waiting {
    fn class(&self) -> Option<Concurrency> {
        match self {
            Self::Refused(_) => None,
            Self::Valid(call) => Some(call.class()),
            Self::Eager(_) => Some(Concurrency::ReadOnly),
        }
    }

    fn on_fatal(&self) -> OnFatal {
        match self {
            Self::Refused(_) => OnFatal::Isolate,
            Self::Valid(call) => call.invocation().tool().on_fatal,
            Self::Eager(eager) => eager.on_fatal,
        }
    }

    fn id(&self) -> &CallId {
        match self {
            Self::Refused(refused) => refused.id(),
            Self::Valid(call) => call.id(),
            Self::Eager(eager) => &eager.id,
        }
    }
}

impl Eager {
    /// Waits for the answer. A walk that vanished with its runtime is answered as interrupted.
    pub(crate) async fn answer(self: Box<Self>) -> Walked {
        let Self { id, answer, .. } = *self;
        answer.await.unwrap_or_else(|_| Walked::Settled(Settled::vanished(id)))
    }
}
