//! The calls of a turn are answered: each as it comes, all of them in the end.

use std::collections::HashSet;

use futures_util::{FutureExt as _, future::BoxFuture};
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{Instant, MissedTickBehavior},
};
use tollgate::{Interrupter, Proposed, Settled, wire::ModelTurn};

use super::{Conversation, ask::Coming};
use crate::{
    event::What,
    history::Kept,
    machine::{Fact, Step},
};

/// How often steps of running calls are told.
const TICK: std::time::Duration = std::time::Duration::from_millis(20);

impl Conversation {
    /// Has every call of a whole turn answered.
    pub(super) async fn settle(&mut self, turn: &ModelTurn, calls: Vec<Proposed>, coming: Coming) {
        let Coming { scope, mut stream, interrupter, answers, pushed, early, .. } = coming;
        let as_told = pushed.len() <= calls.len() && pushed.iter().zip(&calls).all(|(a, b)| a == b);
        if turn.stop.is_cut() || !as_told {
            // What began early began on what turned out not to be the turn.
            for call in &pushed {
                self.event(What::CallDiscarded { id: call.id.clone() });
            }
            drop(stream.cut(&turn.stop.reason()).await);
            let all = self.config.gate.turn(&scope).run(calls).await;
            all.into_iter().for_each(|answer| self.tell_settled(answer));
            return;
        }
        // Of calls that share an id an early answer may be one that does not count.
        let unique = calls.iter().map(|call| &call.id).collect::<HashSet<_>>().len() == calls.len();
        if unique {
            early.into_iter().for_each(|answer| self.settled(answer));
        }
        calls.into_iter().skip(pushed.len()).for_each(|call| stream.push(call));
        self.gather(stream.finish().boxed(), answers, &interrupter, unique).await;
    }

    /// Waits for the answers, takes each as it comes, and stops them when the time is over.
    pub(super) async fn gather(
        &mut self,
        all: BoxFuture<'_, Vec<Settled>>,
        mut answers: UnboundedReceiver<Settled>,
        interrupter: &Interrupter,
        as_they_come: bool,
    ) {
        let (began, left) = (Instant::now(), self.time_left());
        let mut out_of_time = false;
        let mut tick = tokio::time::interval_at(Instant::now() + TICK, TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut all = all;
        let all = loop {
            tokio::select! {
                biased;
                Some(answer) = answers.recv() => {
                    if as_they_come {
                        // That it began is told before how it ended.
                        self.tell_steps();
                        self.tell_settled(answer);
                    }
                }
                all = &mut all => break all,
                _ = tick.tick() => {
                    self.tell_steps();
                    let worked = began.elapsed().saturating_sub(self.patience.waited());
                    if !out_of_time && left.is_some_and(|left| worked >= left) {
                        out_of_time = true;
                        interrupter.stop_everything();
                    }
                }
            }
        };
        self.tell_steps();
        for answer in all {
            if self.is_open(&answer) {
                self.tell_settled(answer);
            }
        }
        if let Some((calls, tokens, microdollars)) =
            self.seat.as_ref().and_then(crate::tools::Seat::take_charges)
        {
            self.fact(Fact::Charged { calls, tokens, microdollars });
        }
    }

    fn is_open(&self, answer: &Settled) -> bool {
        match self.machine.next() {
            Step::CallTools { open, .. } => {
                open.iter().any(|open| open.call.id == answer.id && open.answer.is_none())
            }
            _ => false,
        }
    }

    pub(super) fn tell_settled(&mut self, answer: Settled) {
        self.event(What::CallSettled { answer: Box::new(answer.clone()) });
        self.settled(answer);
    }

    pub(super) fn settled(&mut self, answer: Settled) {
        if answer.attempts > 0 && !answer.replayed {
            self.meter.charge(1, 0, 0);
        }
        self.fact(Fact::Settled { answer: Kept(answer) });
    }
}
