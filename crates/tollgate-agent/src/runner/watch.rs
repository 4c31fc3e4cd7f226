//! Steps of calls, as the gate tells them, become events of the agent whose calls they are.

use tollgate::event::What as Happened;

use super::Conversation;
use crate::event::{AgentEvent, What};

/// How many hand-overs may wait; a watcher that falls further behind misses steps, never answers.
pub(super) const CAPACITY: usize = 4_096;

impl Conversation {
    /// Tells of what happened to calls since the last time, those of sub-agents included.
    pub(super) fn tell_steps(&mut self) {
        let Some(steps) = &mut self.steps else { return };
        let Some(teller) = &self.config.teller else { return };
        let desk = self.config.desk.as_ref();
        let (own, turn) = (&self.id, self.machine.turn());
        let agent = &self.config.scope.agent;
        while steps.drain(|event| {
            let Some(id) = event.call else { return };
            let id = id.clone();
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
            let (agent, turn) = if event.run == own {
                (agent.clone(), turn)
            } else {
                // Calls of other runs through the same gate are told by whoever began those.
                match desk.and_then(|desk| desk.of_tree(event.run, own)) {
                    Some((agent, turn)) => (agent, turn),
                    None => return,
                }
            };
            teller.tell(AgentEvent { run: event.run.clone(), agent, turn, what });
        }) {}
    }
}
