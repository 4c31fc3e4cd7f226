//! Stops a run that proposes the same call turn after turn.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::outcome::{Refusal, RefusalCode};

/// In how many consecutive turns the same call (tool and arguments) may come.
///
/// Several equal calls within one turn count once: asking for five equal things at the same time is odd,
/// and no loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// No limit.
    Allowed,
    /// The turn after this many is refused.
    Turns(u32),
}

impl Default for Repetition {
    fn default() -> Self {
        Self::Turns(8)
    }
}

/// What was called in the latest turns. Holds only calls of this turn and the one before.
#[derive(Debug)]
pub(crate) struct Window {
    limit: Repetition,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    turn: u32,
    now: Streaks,
    before: Streaks,
}

/// In how many turns in a row each call has come.
type Streaks = HashMap<u64, u32, foldhash::fast::FixedState>;

impl Window {
    pub(crate) fn new(limit: Repetition) -> Self {
        Self { limit, seen: Mutex::default() }
    }

    /// Notes the call in its turn; refuses it when it has come in too many turns in a row.
    pub(crate) fn admit(&self, turn: u32, call: impl FnOnce() -> u64) -> Result<(), Refusal> {
        let Repetition::Turns(limit) = self.limit else { return Ok(()) };
        let call = call();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.move_to(turn);
        let turns = seen.now.get(&call).copied().unwrap_or_else(|| seen.note(call));
        drop(seen);
        if turns <= limit {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalCode::Repetition,
            format!("This exact call has now come in {turns} turns in a row; its answer will not change."),
        )
        .with_hint("Use the earlier result, change the arguments, or do something else."))
    }
}

impl Seen {
    /// A call that did not come in this turn yet.
    #[cold]
    fn note(&mut self, call: u64) -> u32 {
        let turns = 1 + self.before.get(&call).copied().unwrap_or(0);
        self.now.insert(call, turns);
        turns
    }

    fn move_to(&mut self, turn: u32) {
        if turn == self.turn {
            return;
        }
        let ended = std::mem::take(&mut self.now);
        self.before = if turn == self.turn.wrapping_add(1) { ended } else { Streaks::default() };
        self.turn = turn;
    }
}
