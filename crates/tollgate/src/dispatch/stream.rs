//! A turn while it is still being written: reads that are already allowed begin early, nothing else does.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    gather::{Eager, Gather, Waiting, stops_siblings},
    turn::{self, Turn, made_id, shared_id},
};
use crate::{
    call::{Call, Lane, Proposed, Validated},
    event::What,
    outcome::Settled,
    pipeline::Walked,
    tool::{CallId, Concurrency, Interrupt},
};

/// Takes calls as their arguments become complete.
///
/// End it with [`TurnStream::finish`] when the model's turn ended well, or with [`TurnStream::cut`] when it did
/// not. Dropping it stops what had begun.
pub struct TurnStream {
    turn: Turn,
    taken: Vec<Taken>,
    by_id: HashMap<CallId, usize>,
    // Once a call has to wait, every later one waits too: order is kept.
    eager: bool,
    batch: CancellationToken,
    soft: CancellationToken,
    slots: Arc<Semaphore>,
}

struct Taken {
    proposed: Proposed,
    waiting: Waiting,
}

impl TurnStream {
    pub(super) fn new(turn: Turn) -> Self {
        let batch = turn.scope.run.token().child_token();
        let soft = turn.stop.begin_batch(&batch);
        let slots = Arc::new(Semaphore::new(turn.cap));
        let eager = turn.pipeline.guards.spawner.is_some();
        Self { turn, taken: Vec::new(), by_id: HashMap::new(), eager, batch, soft, slots }
    }

    /// Takes one call whose arguments are complete. A read that is already allowed begins now.
    pub fn push(&mut self, mut proposed: Proposed) {
        let position = self.taken.len();
        if proposed.id.as_str().is_empty() {
            proposed.id = made_id(position, |id| self.by_id.contains_key(id));
        }
        if let Some(first) = self.by_id.get(&proposed.id).copied() {
            self.eager = false;
            self.break_id(first);
            return;
        }
        self.by_id.insert(proposed.id.clone(), position);
        let waiting = match self.turn.begin(position, proposed.clone()) {
            Waiting::Valid(call) if self.may_begin(&call) => self.start(call),
            waiting => {
                self.eager = false;
                waiting
            }
        };
        self.taken.push(Taken { proposed, waiting });
    }

    /// The turn ended well: the rest runs, and every call is answered in order.
    pub async fn finish(mut self) -> Vec<Settled> {
        let waiting = std::mem::take(&mut self.taken).into_iter().map(|taken| taken.waiting).collect();
        let begun = Some((self.batch.clone(), self.soft.clone()));
        Gather { begun, ..self.turn.gather() }.run(waiting).await.answers
    }

    /// The turn was cut: nothing more runs, what had begun is stopped and its answer thrown away, and every
    /// call is answered with why.
    pub async fn cut(mut self, reason: &str) -> Vec<Settled> {
        self.batch.cancel();
        let mut waiting = Vec::with_capacity(self.taken.len());
        for (position, Taken { proposed, waiting: old }) in
            std::mem::take(&mut self.taken).into_iter().enumerate()
        {
            if let Waiting::Eager(eager) = old {
                let id = eager.id.clone();
                drop(eager.answer().await);
                self.turn.events.tell_of(self.turn.scope.run.id(), &id, || What::Discarded);
            }
            waiting
                .push(self.turn.begin(position, proposed.broken(format!("{reason} None of its calls ran."))));
        }
        self.turn.gather().run(waiting).await.answers
    }

    fn may_begin(&self, call: &Call<Validated>) -> bool {
        // What conducts calls of its own may change things through them, and could not be thrown away.
        let plain = !call.invocation().tool().conducts;
        self.eager && plain && call.class() == Concurrency::ReadOnly && self.turn.pipeline.would_allow(call)
    }

    fn start(&self, mut call: Call<Validated>) -> Waiting {
        let Some(spawner) = self.turn.pipeline.guards.spawner.clone() else { return Waiting::Valid(call) };
        let body = match call.invocation().tool().interrupt {
            Interrupt::Cancel => self.soft.child_token(),
            Interrupt::Block => self.batch.child_token(),
        };
        let lane = Lane::own(self.soft.child_token(), body, true);
        call.lane(lane.clone());
        let (id, on_fatal) = (call.id().clone(), call.invocation().tool().on_fatal);
        let (pipeline, slots) = (self.turn.pipeline.clone(), self.slots.clone());
        let (batch, scope) = (self.batch.clone(), self.turn.scope.clone());
        let (teller, events) = (self.turn.teller.clone(), self.turn.events.clone());
        let (tell, answer) = oneshot::channel();
        spawner.spawn(Box::pin(async move {
            let _slot = slots.acquire_owned().await;
            let walked = pipeline.walk(call, Concurrency::ReadOnly).await;
            if let Walked::Settled(settled) = &walked {
                if stops_siblings(on_fatal, settled, &scope.run) {
                    batch.cancel();
                }
                if let Some(teller) = teller {
                    turn::tell(&teller, settled, scope.run.id(), &events);
                }
            }
            let _ = tell.send(walked);
        }));
        Waiting::Eager(Box::new(Eager { id, answer, on_fatal, lane }))
    }

    /// Two calls share an id: neither runs. One that had begun is stopped, and its answer thrown away.
    fn break_id(&mut self, first: usize) {
        let taken = &mut self.taken[first];
        let id = taken.proposed.id.clone();
        let broken = taken.proposed.clone().broken(shared_id(&id));
        if let Waiting::Eager(eager) = &taken.waiting {
            eager.lane.stop();
            self.turn.events.tell_of(self.turn.scope.run.id(), &id, || What::Discarded);
        }
        taken.waiting = self.turn.begin(first, broken);
    }
}

impl Drop for TurnStream {
    fn drop(&mut self) {
        self.batch.cancel();
    }
}
