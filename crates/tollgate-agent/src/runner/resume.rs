//! Calls that were open when a conversation was left: what is known of them is kept, what is not is said.

use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::{sync::mpsc, time::Instant};
use tollgate::{Proposed, Scope, Settled, tool::IdempotencyKey};

use super::Conversation;
use crate::{
    event::What,
    machine::{Step, StopReason},
};

impl Conversation {
    /// Answers the calls that have no answer yet.
    ///
    /// What had begun when the process ended has its answer in the ledger, or is `unknown`; it is told so, and nobody
    /// is asked about it. What never began walks the whole path, under the key it had. Where no ledger outlived the
    /// process, or it cannot be read, a call may have begun, and is not begun a second time unless it only reads.
    pub(super) async fn take_up_calls(&mut self) -> Result<(), StopReason> {
        self.config.gate.refresh();
        let turn = self.machine.turn();
        let scope = self.scope(turn);
        let (tell, answers) = mpsc::unbounded_channel();
        let pinned = self.config.gate.turn(&scope).telling(move |answer| {
            // Whoever asked may be gone; the answers of the turn are still gathered.
            let _ = tell.send(answer.clone());
        });
        let shape = self.shape();
        let offer = self.offers.of(pinned.snapshot(), shape, scope.route.as_ref());
        let Step::CallTools { open, .. } = self.machine.next() else { return Ok(()) };
        let open: Vec<_> =
            open.iter().filter(|open| open.answer.is_none()).map(|open| open.call.clone()).collect();
        let broken_off = std::mem::take(&mut self.broken_off);
        let mut calls: Vec<Proposed> = Vec::with_capacity(open.len());
        for entry in open {
            let call = offer.inward(&entry.propose());
            self.proposed(&call);
            if call.fault().is_some() {
                calls.push(call);
                continue;
            }
            let key = IdempotencyKey::of_call(&self.id, turn, entry.position, &entry.id);
            let call = call.with_key(key.as_str());
            let known = if broken_off { self.became_of(&scope, &call).await } else { None };
            match known {
                Some(answer) => self.tell_settled(answer),
                None => calls.push(call),
            }
        }
        if let Err(fault) = self.log.sync().await {
            return Err(self.not_kept(&fault));
        }
        let interrupter = pinned.interrupter();
        self.control.calling(interrupter.clone());
        let began = Instant::now();
        self.gather(pinned.run(calls).boxed(), answers, &interrupter, true).await;
        self.worked(began);
        Ok(())
    }
    /// The answer of a call that had begun, or may have, when the process before this one ended.
    async fn became_of(&mut self, scope: &Arc<Scope>, call: &Proposed) -> Option<Settled> {
        let lost = if self.config.durable_ledger {
            match self.config.gate.recall(scope, call).await {
                Ok(known) => return known,
                Err(fault) => {
                    self.event(What::Fault { message: fault.to_string() });
                    "What became of this call cannot be looked up; nobody knows whether it had begun."
                }
            }
        } else {
            "The program ended while this call was open; nobody knows whether it had begun."
        };
        let reads = self.config.gate.explain(scope, call.clone()).await.effects.read_only;
        (!reads).then(|| Settled::lost(call.id.clone(), call.name.as_str(), lost))
    }
}
