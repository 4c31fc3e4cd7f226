//! Runs batches in order and gathers one answer per call, in call order.

use std::{future::poll_fn, sync::Arc, task::Poll};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;

use super::{
    partition::partition,
    turn::{Stop, Teller, tell},
};
use crate::{
    call::{Batch, Call, Lane, Refused, Validated},
    event::{BatchBegins, Events, What},
    guard::Run,
    outcome::{Settled, Status},
    pipeline::{Pipeline, Walked},
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

impl Gather<'_> {
    /// One answer per waiting call, in their order.
    pub(crate) async fn run(&self, waiting: Vec<Waiting>) -> Vec<Settled> {
        let classes: Vec<_> = waiting.iter().map(Waiting::class).collect();
        let mut answers: Vec<Option<Settled>> = waiting.iter().map(|_| None).collect();
        let mut waiting: Vec<_> = waiting.into_iter().map(Some).collect();
        for (index, places) in partition(&classes).into_iter().enumerate() {
            let batch: Vec<_> = places.filter_map(|at| waiting[at].take().map(|call| (at, call))).collect();
            let calls = || batch.iter().map(|(_, call)| call.id().clone()).collect();
            self.events.tell_with(self.scope.run.id(), || {
                What::Batch(Box::new(BatchBegins { index, calls: calls() }))
            });
            for (at, settled) in self.batch(batch).await {
                answers[at] = Some(settled);
            }
        }
        answers.into_iter().flatten().collect()
    }

    async fn batch(&self, calls: Vec<(usize, Waiting)>) -> Vec<(usize, Settled)> {
        let concurrent = calls.len() > 1;
        let (token, soft) = self.tokens(&calls);
        let batch =
            Arc::new(if concurrent { Batch::watched(token, soft) } else { Batch::unwatched(token, soft) });
        let mut ringer = batch.ringer();
        let mut queue = calls.into_iter();
        let mut running = FuturesUnordered::new();
        let (mut answers, mut leaving) = (Vec::with_capacity(queue.len()), Vec::new());
        let mut worked = false;
        loop {
            while running.len() < self.cap
                && let Some((at, call)) = queue.next()
            {
                running.push(self.walk(at, call, &batch, concurrent));
            }
            let next = poll_fn(|task| {
                let next = running.poll_next_unpin(task);
                if next.is_ready() {
                    worked = true;
                    return next;
                }
                if let Some(ringer) = &mut ringer {
                    ringer.poll(task);
                }
                // Where one body ended others are about to: they go first, and their answers are taken together.
                if std::mem::take(&mut worked) {
                    task.waker().wake_by_ref();
                }
                Poll::Pending
            });
            match next.await {
                None => break,
                Some(Ended { at, walked: Walked::Leaves(call), .. }) => leaving.push((at, call)),
                Some(Ended { at, on_fatal, told, walked: Walked::Settled(settled) }) => {
                    self.tell(&settled, told);
                    if stops_siblings(on_fatal, &settled, &self.scope.run) {
                        batch.token.cancel();
                    }
                    answers.push((at, settled));
                }
            }
        }
        leaving.sort_by_key(|(at, _)| *at);
        for (at, call) in leaving {
            if let Walked::Settled(settled) = self.alone(call).await {
                self.tell(&settled, false);
                answers.push((at, settled));
            }
        }
        answers
    }

    fn tell(&self, settled: &Settled, told: bool) {
        if let Some(teller) = self.teller.filter(|_| !told) {
            tell(teller, settled, self.scope.run.id(), self.events);
        }
    }

    /// What a rewrite made too dangerous for its batch runs right after it, and what stopped the batch does
    /// not concern it any more.
    async fn alone(&self, call: Call<Validated>) -> Walked {
        let (token, soft) = self.new_tokens();
        let batch = Arc::new(Batch::unwatched(token, soft));
        Box::pin(self.walk(0, Waiting::Valid(call), &batch, false)).await.walked
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

    // Says itself where the call stands: a future around it would have room for it twice.
    async fn walk(&self, at: usize, call: Waiting, batch: &Arc<Batch>, concurrent: bool) -> Ended {
        let stopped = || batch.token.is_cancelled() || self.stop.is_stopped();
        let (on_fatal, told) = (call.on_fatal(), matches!(call, Waiting::Eager(_)));
        let ended = |walked| Ended { at, on_fatal, told, walked };
        let mut call = match call {
            Waiting::Eager(eager) => return ended(eager.answer().await),
            Waiting::Refused(refused) => {
                return ended(Walked::Settled(refused.settle(&self.pipeline.records).await));
            }
            Waiting::Valid(call) if stopped() => {
                return ended(Walked::Settled(call.cancel().settle(&self.pipeline.records).await));
            }
            Waiting::Valid(call) => call,
        };
        // Whatever it does with a new message once it runs, it does not start after one.
        call.lane(Lane::new(batch, call.invocation().tool().interrupt, concurrent));
        let within = if concurrent { Concurrency::ReadOnly } else { Concurrency::Unsafe };
        ended(self.pipeline.walk(call, within).await)
    }
}

/// Where the walk of one call of a batch ended.
struct Ended {
    at: usize,
    on_fatal: OnFatal,
    // An early one told of itself when it ended.
    told: bool,
    walked: Walked,
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
