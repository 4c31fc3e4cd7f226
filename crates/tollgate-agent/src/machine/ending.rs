//! What follows from a turn, from its answers, from a failure: the next question, or the end and its reason.

use tollgate::{
    outcome::{RefusalCode, Status},
    wire::Stop,
};

use super::{
    Machine, Misplaced, ModelFault, Phase, StopReason,
    fact::Then,
    step::{self, code},
};
use crate::history::{Entry, Kept};

/// Turns in a row that may be cut or hold nothing to answer.
const MOST_STUMBLES: u32 = 3;

/// Turns in a row all of whose calls may be refused as repetitions.
const MOST_REPEATS: u32 = 2;

/// The tool that ends plan mode, once a person allowed it.
pub(crate) const START_WORK: &str = "start_work";

/// The tool that ends a sub-agent's task.
pub(crate) const REPORT: &str = "report";

impl Machine {
    /// The model is asked next, unless a limit says otherwise.
    pub(super) fn ask(&mut self) {
        self.phase = Phase::Asking { wait_ms: None, make_room: false };
        if let Some(turns) = self.limits.turns.filter(|turns| self.turns_of_task >= *turns) {
            return self.end(StopReason::TurnLimit { turns });
        }
        self.look_at_limits();
        if matches!(self.phase, Phase::Asking { .. })
            && let Some(text) = self.warned.due(&self.limits, &self.spent, self.turns_of_task)
        {
            self.history.push(Entry::Context { text, from: "limits".to_owned() });
        }
    }

    pub(super) fn look_at_limits(&mut self) {
        if let (Phase::Asking { .. }, Some(limit)) = (&self.phase, self.limits.reached(&self.spent)) {
            self.end(StopReason::Budget { limit });
        }
    }

    pub(super) fn end(&mut self, reason: StopReason) {
        self.phase = Phase::Ended { reason };
    }

    /// A turn without calls.
    pub(super) fn after_turn(&mut self, stop: &Stop, faults: &[String], text: &str) {
        let reason = stop.reason();
        match stop {
            Stop::EndTurn | Stop::StopSequence | Stop::ToolUse if faults.is_empty() => {
                self.end(StopReason::Done);
            }
            Stop::EndTurn | Stop::StopSequence | Stop::ToolUse => {
                let said = format!("{} Nothing ran. Propose each call again, whole.", faults.join(" "));
                self.stumble(said, &reason);
            }
            Stop::PauseTurn => self.paused(),
            Stop::MaxTokens => {
                self.stumble(format!("{reason} Go on exactly where it ends, in shorter pieces."), &reason);
            }
            Stop::Refusal => self.end(StopReason::Refused { why: text.trim().to_owned() }),
            Stop::ContentFilter => self.end(StopReason::Filtered),
            Stop::ContextFull => {
                self.go_on_from(&reason);
                self.make_room();
            }
            Stop::ProviderFailed { .. } | Stop::Failed(_) | Stop::Other(_) => {
                self.end(StopReason::CutShort { why: reason });
            }
        }
    }

    /// A paused turn goes back as it is, where it ends with work of the provider's own; any other end is one.
    fn paused(&mut self) {
        let own_work = match self.history.entries().last() {
            Some(Entry::Model(turn)) => turn.message["content"].as_array().is_some_and(|blocks| {
                let kind = blocks.last().and_then(|block| block["type"].as_str()).unwrap_or_default();
                kind == "server_tool_use" || kind.ends_with("_tool_result")
            }),
            _ => false,
        };
        if !own_work {
            self.go_on_from("The turn was paused.");
        }
        self.ask();
    }

    /// A model that is asked to go on after its own words is told so: none takes a conversation that ends with them.
    pub(super) fn go_on_from(&mut self, why: &str) {
        if let Some(Entry::Model(_)) = self.history.entries().last() {
            let text = format!("{why} Go on.");
            self.history.push(Entry::Context { text, from: "tollgate".to_owned() });
        }
    }

    /// Tells the model what went wrong and asks again, a few times in a row.
    fn stumble(&mut self, words: String, why: &str) {
        self.streaks.stumbles += 1;
        if self.streaks.stumbles >= MOST_STUMBLES {
            return self.end(StopReason::CutShort { why: why.to_owned() });
        }
        self.history.push(Entry::Context { text: words, from: "tollgate".to_owned() });
        self.ask();
    }

    /// Every call of the turn has its answer.
    pub(super) fn all_answered(&mut self) {
        let Phase::Calling { open, stop, interrupted } = &mut self.phase else { return };
        let waits = self.limits.wait_for_person && !*interrupted && self.queued.is_empty();
        if waits && open.iter().any(step::Open::needs_person) {
            self.phase = Phase::Approving { open: std::mem::take(open), stop: stop.clone() };
            return;
        }
        let (stop, interrupted) = (stop.clone(), *interrupted);
        let told = self.push_results();
        let reported = told.iter().any(|answer| ended_well(answer, REPORT));
        if told.iter().any(|answer| ended_well(answer, START_WORK)) {
            self.plan = false;
        }
        let repeated = told.iter().all(|answer| code(answer) == Some(RefusalCode::Repetition));
        self.streaks.repeats = if repeated { self.streaks.repeats + 1 } else { 0 };
        let spoke = self.say_queued();
        match stop {
            _ if spoke => self.begin_task(),
            _ if interrupted => self.end(StopReason::Interrupted),
            _ if reported => self.end(StopReason::Reported),
            _ if self.streaks.repeats >= MOST_REPEATS => self.end(StopReason::Repetition),
            Stop::Refusal => self.end(StopReason::Refused { why: String::new() }),
            Stop::ContentFilter => self.end(StopReason::Filtered),
            Stop::ContextFull => self.make_room(),
            Stop::MaxTokens => {
                let why = "The turn was cut at the token limit.";
                let words =
                    format!("{why} None of its calls ran. Propose them again, fewer or shorter at a time.");
                self.stumble(words, why);
            }
            _ => {
                self.streaks.stumbles = 0;
                self.ask();
            }
        }
    }

    /// Puts the answers into the history, in call order, and gives them back.
    pub(super) fn push_results(&mut self) -> Vec<Kept> {
        let (Phase::Calling { open, .. } | Phase::Approving { open, .. }) = &mut self.phase else {
            return Vec::new();
        };
        let answers: Vec<Kept> = std::mem::take(open).into_iter().filter_map(|open| open.answer).collect();
        self.history.push(Entry::Results { answers: answers.clone() });
        answers
    }

    /// What came meanwhile is said now; true where a person is among those who spoke.
    fn say_queued(&mut self) -> bool {
        let queued = std::mem::take(&mut self.queued);
        let spoke = queued.iter().any(|entry| matches!(entry, Entry::Person { .. }));
        queued.into_iter().for_each(|entry| self.history.push(entry));
        spoke
    }

    fn make_room(&mut self) {
        self.ask();
        if let Phase::Asking { make_room, .. } = &mut self.phase {
            *make_room = true;
        }
    }

    pub(super) fn failed(&mut self, fault: ModelFault) -> Result<(), Misplaced> {
        if !matches!(self.phase, Phase::Asking { .. }) {
            return Err(Misplaced { fact: "a failure of the model", why: "nobody asked it" });
        }
        self.streaks.failures += 1;
        match fault.then {
            Then::Again { after_ms } if self.streaks.failures <= self.limits.retries => {
                self.phase = Phase::Asking { wait_ms: Some(after_ms), make_room: false };
            }
            // Once after it was made shorter, and no more.
            Then::TooLong if self.streaks.failures == 1 => self.make_room(),
            Then::TooLong => self.end(StopReason::ContextFull),
            Then::Cancelled => self.end(StopReason::Interrupted),
            Then::Again { .. } | Then::GiveUp => self.end(StopReason::ProviderFailed(fault)),
        }
        Ok(())
    }
}

fn ended_well(answer: &Kept, tool: &str) -> bool {
    &*answer.tool == tool && answer.status() == Status::Ok
}
