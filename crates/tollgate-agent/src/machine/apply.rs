//! Each fact moves the machine one step; what does not fit changes nothing.

use tollgate::tool::CallId;

use super::{Answered, Fact, Machine, Misplaced, Open, Phase, Step, StopReason, Streaks, limits::Warnings};
use crate::history::{Entry, Kept, Part};

impl Machine {
    /// Takes a fact. One that does not fit here is refused and changes nothing.
    pub fn apply(&mut self, fact: Fact) -> Result<(), Misplaced> {
        match fact {
            Fact::Said { parts } => self.said(parts),
            Fact::Context { text, from } => self.context(text, from),
            Fact::Answered(answered) => return self.answered(*answered),
            Fact::Failed(fault) => return self.failed(fault),
            Fact::Waited => return self.waited(),
            Fact::Settled { answer } => return self.settled(answer),
            Fact::Interrupted => self.interrupted(),
            Fact::AskAgain { calls } => return self.ask_again(&calls),
            Fact::GoOn => return self.go_on(),
            Fact::Compacted { aside } => {
                self.history.put_aside(&aside);
                self.compacted(!aside.is_empty());
            }
            Fact::Worked { ms } => {
                self.spent.ms += ms;
                self.look_at_limits();
            }
            Fact::Charged { calls, tokens, microdollars } => {
                self.spent.calls += calls;
                self.spent.tokens += tokens;
                self.spent.microdollars += microdollars;
                self.look_at_limits();
            }
            Fact::Ceiling { limit } => {
                if matches!(self.phase, Phase::Asking { .. }) {
                    self.end(StopReason::Budget { limit });
                }
            }
            Fact::Limits { limits } => {
                self.limits = limits;
                self.warned = Warnings::default();
            }
            Fact::Resumed => self.resumed(),
            Fact::Plan { on } => self.plan = on,
        }
        Ok(())
    }

    fn said(&mut self, parts: Vec<Part>) {
        match self.phase {
            Phase::Calling { .. } | Phase::Approving { .. } => self.queued.push(Entry::Person { parts }),
            Phase::Waiting | Phase::Asking { .. } | Phase::Ended { .. } => {
                self.history.push(Entry::Person { parts });
                self.begin_task();
            }
        }
    }

    pub(super) fn begin_task(&mut self) {
        self.turns_of_task = 0;
        self.streaks = Streaks::default();
        self.ask();
    }

    /// What the model ended itself stays ended; what broke off goes on.
    fn resumed(&mut self) {
        if let Phase::Ended { reason } = &self.phase
            && reason.is_broken_off()
        {
            self.go_on_from("The conversation was broken off here.");
            self.begin_task();
        }
    }

    fn context(&mut self, text: String, from: String) {
        let entry = Entry::Context { text, from };
        match self.phase {
            Phase::Calling { .. } | Phase::Approving { .. } => self.queued.push(entry),
            _ => self.history.push(entry),
        }
    }

    fn answered(&mut self, answered: Answered) -> Result<(), Misplaced> {
        if !matches!(self.next(), Step::CallModel { .. }) {
            return Err(Misplaced { fact: "an answer of the model", why: "nobody asked it" });
        }
        let Answered { turn, stop, faults, usage, microdollars } = answered;
        self.turn += 1;
        self.turns_of_task += 1;
        self.streaks.failures = 0;
        self.spent.turns += 1;
        if let Some(usage) = usage {
            self.spent.add(turn.provider, &usage, microdollars);
        }
        let open: Vec<Open> =
            turn.calls.iter().map(|call| Open { call: call.clone(), answer: None }).collect();
        let text = turn.text.clone();
        self.history.push(Entry::Model(Box::new(turn)));
        if open.is_empty() {
            self.after_turn(&stop, &faults, &text);
        } else {
            self.phase = Phase::Calling { open, stop, interrupted: false };
        }
        Ok(())
    }

    fn settled(&mut self, answer: Kept) -> Result<(), Misplaced> {
        let misplaced = |why| Misplaced { fact: "the answer of a call", why };
        let Phase::Calling { open, .. } = &mut self.phase else { return Err(misplaced("no call is open")) };
        let Some(call) = open.iter_mut().find(|open| *open.id() == answer.id) else {
            return Err(misplaced("no open call has that id"));
        };
        if call.answer.is_some() {
            return Err(misplaced("the call has its answer already"));
        }
        if answer.attempts > 0 && !answer.replayed {
            self.spent.calls += 1;
        }
        call.answer = Some(answer);
        if open.iter().all(|open| open.answer.is_some()) {
            self.all_answered();
        }
        Ok(())
    }

    fn interrupted(&mut self) {
        match &mut self.phase {
            Phase::Calling { interrupted, .. } => *interrupted = true,
            Phase::Asking { .. } => self.end(StopReason::Interrupted),
            Phase::Approving { .. } => {
                self.push_results();
                self.end(StopReason::Interrupted);
            }
            Phase::Waiting | Phase::Ended { .. } => {}
        }
    }

    fn ask_again(&mut self, calls: &[CallId]) -> Result<(), Misplaced> {
        let Phase::Approving { open, stop } = &mut self.phase else {
            return Err(Misplaced { fact: "a person who came", why: "no call waits for one" });
        };
        let (mut open, stop) = (std::mem::take(open), stop.clone());
        for call in &mut open {
            if call.needs_person() && calls.contains(call.id()) {
                call.answer = None;
            }
        }
        let all_answered = open.iter().all(|open| open.answer.is_some());
        self.phase = Phase::Calling { open, stop, interrupted: false };
        if all_answered {
            self.push_results();
            self.ask();
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), Misplaced> {
        if !matches!(self.phase, Phase::Approving { .. }) {
            return Err(Misplaced { fact: "going on without a person", why: "no call waits for one" });
        }
        self.push_results();
        self.ask();
        Ok(())
    }

    fn waited(&mut self) -> Result<(), Misplaced> {
        match &mut self.phase {
            Phase::Asking { wait_ms: wait @ Some(_), .. } => *wait = None,
            _ => return Err(Misplaced { fact: "the end of a wait", why: "nothing waited" }),
        }
        Ok(())
    }

    fn compacted(&mut self, any: bool) {
        if any {
            self.edition += 1;
        }
        if let Phase::Asking { make_room, .. } = &mut self.phase
            && *make_room
        {
            *make_room = false;
            if !any {
                self.end(StopReason::ContextFull);
            }
        }
    }
}
