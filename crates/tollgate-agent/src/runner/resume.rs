//! Calls that were open when a conversation was left: what is known of them is kept, what is not is said.

use futures_util::FutureExt as _;
use tokio::{sync::mpsc, time::Instant};
use tollgate::{Proposed, Settled, tool::IdempotencyKey};

use super::Conversation;
use crate::machine::{Step, StopReason};

impl Conversation {
    /// Answers the calls that have no answer yet.
    ///
    /// Each walks the whole path again, under the key it had: the ledger knows what it did. A call that was open when
    /// a process ended whose ledger ended with it may have begun, and is not begun a second time unless it only reads.
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
        let in_doubt = std::mem::take(&mut self.broken_off) && !self.config.durable_ledger;
        let mut calls: Vec<Proposed> = Vec::with_capacity(open.len());
        for entry in open {
            let call = offer.inward(&entry.propose());
            if in_doubt
                && call.fault().is_none()
                && !self.config.gate.explain(&scope, call.clone()).await.effects.read_only
            {
                let why = "The program ended while this call was open; nobody knows whether it had begun.";
                self.tell_settled(Settled::lost(call.id, call.name, why));
                continue;
            }
            let key = IdempotencyKey::of_call(&self.id, turn, entry.position, &entry.id);
            let call = if call.fault().is_none() { call.with_key(key.as_str()) } else { call };
            self.proposed(&call);
            calls.push(call);
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
}
