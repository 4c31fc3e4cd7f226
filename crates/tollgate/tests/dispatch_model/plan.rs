//! A turn thrown by dice: its calls, how long they take, what is wrong with them, and who stops it.

use tollgate::{
    Proposed,
    outcome::{RefusalCode, Status},
    tool::Concurrency::{self, ReadOnly, Unsafe, WriteExclusive},
};

use crate::world::{End, Work, Worker};

pub(crate) struct Plan {
    pub(crate) run: String,
    pub(crate) cap: usize,
    pub(crate) begins_at: u64,
    pub(crate) calls: Vec<Planned>,
    pub(crate) stop: Option<(u64, How)>,
    pub(crate) written: Option<Written>,
}

/// The calls come one by one, while the model is still writing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) gap: u64,
    pub(crate) cut: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) id: String,
    pub(crate) tool: Worker,
    pub(crate) work: Work,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    RunCancelled,
    NewMessage,
    StopEverything,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    UnknownTool,
    InvalidArguments,
    SharedId,
}

impl Plan {
    pub(crate) fn roll(dice: &mut Dice, cap: usize, run: String) -> Self {
        let count = 1 + dice.below(16);
        let mut calls: Vec<_> = (0..count).map(|at| Planned::roll(dice, at)).collect();
        let written = dice.one_in(3).then(|| Written { gap: dice.upto(60), cut: dice.one_in(4) });
        // In a stream the first of two may have begun: that has a test of its own.
        if written.is_none() && dice.one_in(3) {
            let (first, again) = (dice.below(count), dice.below(count));
            calls[again].id = format!("c{first}");
        }
        let how = [How::RunCancelled, How::NewMessage, How::StopEverything][dice.below(3)];
        let stop = dice.one_in(2).then(|| (dice.upto(1_500), how));
        Self { run, cap, begins_at: dice.upto(300), calls, stop, written }
    }

    /// The calls that are answered: the first of each id, and what is wrong with it.
    pub(crate) fn answered(&self) -> Vec<Planned> {
        let mut kept: Vec<Planned> = Vec::new();
        for call in &self.calls {
            match kept.iter_mut().find(|earlier| earlier.id == call.id) {
                Some(earlier) => earlier.fault = Some(Fault::SharedId),
                None => kept.push(call.clone()),
            }
        }
        kept
    }
}

impl Planned {
    pub(crate) fn roll(dice: &mut Dice, at: usize) -> Self {
        let class = [ReadOnly, ReadOnly, ReadOnly, ReadOnly, ReadOnly, WriteExclusive, Unsafe];
        let end = [End::Fatal, End::Panic, End::Retryable];
        let longest = if dice.one_in(2) { 40 } else { 1_000 };
        let work = Work {
            class: class[dice.below(class.len())],
            becomes: dice.one_in(8).then(|| class[2 + dice.below(class.len() - 2)]),
            ms: 1 + dice.upto(longest),
            end: if dice.one_in(4) { end[dice.below(end.len())] } else { End::Ok },
            heeds: dice.one_in(4),
            refused: dice.one_in(12),
            ponder_ms: if dice.one_in(12) { dice.upto(300) } else { 0 },
        };
        let fault = dice
            .one_in(12)
            .then(|| if dice.one_in(2) { Fault::UnknownTool } else { Fault::InvalidArguments });
        let tool = Worker::all().nth(dice.below(8)).unwrap();
        Self { id: format!("c{at}"), tool, work, fault }
    }

    pub(crate) fn proposed(&self) -> Proposed {
        match self.fault {
            Some(Fault::UnknownTool) => Proposed::new(&self.id, "nobody", "{}"),
            Some(Fault::InvalidArguments) => Proposed::new(&self.id, self.tool.name(), r#"{"ms": "soon"}"#),
            _ => self.work.call(&self.id, self.tool),
        }
    }

    /// The class dispatch goes by; `None` where there is none to go by.
    pub(crate) fn class(&self) -> Option<Concurrency> {
        self.fault.is_none().then_some(self.work.class)
    }

    /// The class it runs as.
    pub(crate) fn runs_as(&self) -> Concurrency {
        self.work.becomes.unwrap_or(self.work.class)
    }

    /// How it ends where nobody stops it.
    pub(crate) fn ending(&self) -> (Status, Option<RefusalCode>) {
        let refused = |code| (Status::Refused, Some(code));
        match (self.fault, self.work.refused, self.work.end) {
            (Some(Fault::UnknownTool), ..) => refused(RefusalCode::UnknownTool),
            (Some(Fault::InvalidArguments), ..) => refused(RefusalCode::InvalidArguments),
            (Some(Fault::SharedId), ..) => refused(RefusalCode::ProtocolError),
            (None, true, _) => refused(RefusalCode::InvalidValue),
            (None, false, End::Ok) => (Status::Ok, None),
            (None, false, End::Fatal | End::Panic) => (Status::FatalError, None),
            (None, false, End::Retryable) => (Status::RetryableError, None),
        }
    }
}

/// A small xorshift: the same seed, the same turns.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn upto(&mut self, limit: u64) -> u64 {
        self.roll() % (limit + 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % limit as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.roll().is_multiple_of(chances)
    }
}
