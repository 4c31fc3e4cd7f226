//! Steps of calls, as the gate tells them, become events of the agent whose calls they are.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use tollgate::{event::What as Happened, tool::CallId};

use super::Conversation;
use crate::event::{AgentEvent, What};

/// How many hand-overs may wait; a watcher that falls further behind misses steps, never answers.
pub(super) const CAPACITY: usize = 4_096;

impl Conversation {
    /// Tells of what happened to calls since the last time. Those of sub-agents are told by themselves; while one of
    /// theirs waits for a person, no time of this one goes by either.
    pub(super) fn tell_steps(&mut self) {
        let Some(steps) = &mut self.steps else { return };
        let desk = self.config.desk.as_ref();
        let (patience, teller) = (&mut self.patience, self.config.teller.as_ref());
        let (own, turn) = (&self.id, self.machine.turn_under_way());
        let agent = &self.config.scope.agent;
        while steps.drain(|event| {
            let Some(id) = event.call else { return };
            let is_own = event.run == own;
            if !is_own && !desk.is_some_and(|desk| desk.is_of_tree(event.run, own)) {
                return;
            }
            patience.see(id, event.what);
            // Calls of other runs through the same gate are told by whoever began those.
            let (true, Some(teller)) = (is_own, teller) else { return };
            let (agent, id) = (agent.clone(), id.clone());
            let what = match event.what {
                Happened::Asked { rule } => What::CallAsked { id, rule: rule.clone() },
                Happened::Started { attempt } => What::CallStarted { id, attempt: *attempt },
                Happened::Progress(progress) if !progress.message.is_empty() => What::CallProgress {
                    id,
                    fraction: progress.fraction,
                    message: progress.message.to_string(),
                },
                _ => return,
            };
            teller.tell(AgentEvent { run: event.run.clone(), agent, turn, what });
        }) {}
    }
}

/// How long people were waited for: no time of the run's.
#[derive(Debug, Default)]
pub(super) struct Patience {
    asked: HashSet<CallId>,
    since: Option<Instant>,
    waited: Duration,
}

impl Patience {
    fn see(&mut self, call: &CallId, what: &Happened) {
        match what {
            Happened::Asked { .. } => {
                self.asked.insert(call.clone());
                self.since.get_or_insert_with(Instant::now);
            }
            // Whatever comes next of a call, its question is answered.
            _ if self.asked.remove(call) && self.asked.is_empty() => {
                self.waited += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            }
            _ => {}
        }
    }

    /// Since the last settling of accounts.
    pub(super) fn waited(&self) -> Duration {
        self.waited + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub(super) fn settle(&mut self) -> Duration {
        let waited = self.waited();
        self.waited = Duration::ZERO;
        self.since = self.since.map(|_| Instant::now());
        waited
    }
}
