//! One model turn: its calls against one pinned tool list, and the handle that interrupts it.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use foldhash::fast::RandomState;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    gather::{Gather, Gathered, Waiting},
    stream::TurnStream,
};
use crate::{
    call::{Call, Proposed},
    catalog::Snapshot,
    event::{Events, What},
    guard::{Spawner, caught},
    outcome::Settled,
    pipeline::Pipeline,
    tool::{CallId, RunId, Scope},
};

/// A turn about to be dispatched. The tool list is pinned when it is made.
pub struct Turn {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) scope: Arc<Scope>,
    pub(super) events: Events,
    pub(super) cap: usize,
    pub(super) stop: Stop,
    pub(super) teller: Option<Teller>,
}

/// Who is told of each answer as it comes.
pub(super) type Teller = Arc<dyn Fn(&Settled) + Send + Sync>;

/// Tells of an answer. Whoever fails at hearing it takes it away from nobody.
pub(super) fn tell(teller: &Teller, settled: &Settled, run: &RunId, events: &Events) {
    if let Err(message) = caught(|| teller(settled)) {
        events.tell_of(run, &settled.id, || What::Fault { message: message.into() });
    }
}

/// Interrupts a running turn. Cheap to clone and to send elsewhere.
#[derive(Debug, Clone)]
pub struct Interrupter {
    stop: Stop,
    run: CancellationToken,
}

/// What interrupts a turn from outside.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<Mutex<StopState>>);

#[derive(Debug, Default)]
struct StopState {
    stopped: bool,
    // Of every batch that began, until the turn is over: more than one may have calls that run.
    soft: Vec<CancellationToken>,
}

impl Turn {
    pub(crate) fn new(pipeline: Arc<Pipeline>, scope: Arc<Scope>, events: Events, cap: usize) -> Self {
        Self { pipeline, scope, events, cap: cap.max(1), stop: Stop::default(), teller: None }
    }

    /// The tools this turn's calls are judged against.
    pub fn snapshot(&self) -> &Snapshot {
        &self.pipeline.snapshot
    }

    /// The handle that interrupts this turn.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { stop: self.stop.clone(), run: self.scope.run.token().clone() }
    }

    /// The same, and `tell` is told of each answer as soon as there is one, in whatever order they come.
    ///
    /// It is called on the path of the calls, so it must be quick. Of a turn that is cut, and of calls that share an
    /// id, it is told of early answers first and of the ones that count afterwards.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(&Settled) + Send + Sync + 'static) -> Self {
        self.teller = Some(Arc::new(tell));
        self
    }

    /// Runs the calls of a whole turn. One answer for each id, in call order, always.
    pub async fn run(self, mut calls: Vec<Proposed>) -> Vec<Settled> {
        give_ids(&mut calls);
        match self.pipeline.guards.spawner.clone() {
            // From the thread of `block_on` every body, and every answer, would have to wake another thread.
            Some(spawner) if calls.len() > 1 && tokio::task::try_id().is_none() => {
                self.run_apart(&*spawner, calls).await
            }
            _ => self.run_here(calls).await.answers,
        }
    }

    /// The same on a task among those of the bodies, for as long as somebody waits for the answers.
    async fn run_apart(self, spawner: &dyn Spawner, calls: Vec<Proposed>) -> Vec<Settled> {
        let ids: Vec<_> = calls.iter().map(|call| call.id.clone()).collect();
        let (mut answer, answers) = oneshot::channel();
        spawner.spawn(Box::pin(async move {
            tokio::select! {
                biased;
                () = answer.closed() => {}
                Gathered { answers, husks } = self.run_here(calls) => {
                    drop(answer.send(answers));
                    drop(husks);
                }
            }
        }));
        // A runtime that is shutting down takes the task along.
        answers.await.unwrap_or_else(|_| {
            let mut told = Ids::default();
            ids.into_iter().filter(|id| told.insert(id.clone())).map(Settled::vanished).collect()
        })
    }

    async fn run_here(self, calls: Vec<Proposed>) -> Gathered {
        let mut waiting = Vec::with_capacity(calls.len());
        for (position, proposed) in answer_shared_ids_once(calls) {
            let call = Call::propose(proposed, position, &self.scope, &self.events);
            waiting.push(Waiting::of(self.pipeline.begin_fetched(call).await));
        }
        self.gather().run(waiting).await
    }

    /// Takes the calls one by one, while the model is still writing.
    pub fn streaming(self) -> TurnStream {
        TurnStream::new(self)
    }

    pub(super) fn begin(&self, position: usize, proposed: Proposed) -> Waiting {
        let call = Call::propose(proposed, position, &self.scope, &self.events);
        Waiting::of(self.pipeline.begin(call))
    }

    pub(super) fn gather(&self) -> Gather<'_> {
        Gather {
            pipeline: &self.pipeline,
            scope: &self.scope,
            events: &self.events,
            cap: self.cap,
            stop: &self.stop,
            begun: None,
            teller: self.teller.as_ref(),
        }
    }
}

/// A call without an id gets one that no other call of the turn has.
fn give_ids(calls: &mut [Proposed]) {
    for at in 0..calls.len() {
        if calls[at].id.as_str().is_empty() {
            calls[at].id = made_id(at, |id| calls.iter().any(|call| call.id == *id));
        }
    }
}

/// An id for the call at this place of its turn.
pub(super) fn made_id(at: usize, is_taken: impl Fn(&CallId) -> bool) -> CallId {
    let ids = (at + 1..).map(|number| CallId::new(format!("call_missing_{number}")));
    ids.into_iter().find(|id| !is_taken(id)).unwrap_or_default()
}

/// Of calls that share an id none runs, and the one answer says so. Keeps each call's place in the turn.
fn answer_shared_ids_once(calls: Vec<Proposed>) -> impl Iterator<Item = (usize, Proposed)> {
    let shared = shared_ids(&calls);
    let mut answered = Ids::default();
    calls.into_iter().enumerate().filter_map(move |(position, call)| {
        if !shared.contains(&call.id) {
            return Some((position, call));
        }
        let reason = shared_id(&call.id);
        answered.insert(call.id.clone()).then(|| (position, call.broken(reason)))
    })
}

type Ids = HashSet<CallId, RandomState>;

fn shared_ids(calls: &[Proposed]) -> Ids {
    let mut seen = HashSet::with_capacity_and_hasher(calls.len(), RandomState::default());
    calls.iter().map(|call| &call.id).filter(|id| !seen.insert(*id)).cloned().collect()
}

pub(super) fn shared_id(id: &CallId) -> String {
    let shown = crate::json::shorten(id.as_str(), 80);
    format!("More than one call of this turn has the id {shown:?}; none of them ran.")
}

impl Interrupter {
    /// The person said something new: tools that may be cancelled stop, the others finish, nothing else starts.
    pub fn new_message(&self) {
        let mut state = self.stop.lock();
        state.stopped = true;
        state.soft.drain(..).for_each(|soft| soft.cancel());
    }

    /// The person wants everything to stop: every call of the run is cancelled.
    pub fn stop_everything(&self) {
        self.stop.lock().stopped = true;
        self.run.cancel();
    }
}

impl Stop {
    /// The token for the batch's interruptible calls.
    pub(super) fn begin_batch(&self, batch: &CancellationToken) -> CancellationToken {
        let soft = batch.child_token();
        let mut state = self.lock();
        if state.stopped {
            soft.cancel();
        } else {
            state.soft.push(soft.clone());
        }
        soft
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, StopState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn")
            .field("run", self.scope.run.id())
            .field("turn", &self.scope.turn)
            .finish_non_exhaustive()
    }
}
