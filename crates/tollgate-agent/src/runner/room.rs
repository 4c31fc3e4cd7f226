//! Makes room before the window is full: rarely, and then much at once, so that the prompt cache is lost rarely.

use tollgate::outcome::Label;

use super::Conversation;
use crate::{
    event::What,
    history::{Aside, Entry, Room},
    machine::{Fact, StopReason},
};

/// Turns whose results stay when the conversation is too long already.
pub(super) const KEEP_LAST: usize = 1;

/// Turns whose results stay when room is made in time.
const KEEP_RECENT: usize = 6;

/// The part of the window, in hundredths, at which room is made.
const FULL_AT: u64 = 75;

/// The least part of the window, in hundredths, that must be won for the cache to be given up.
const WORTH: u64 = 10;

/// Characters of a token, on the safe side.
const CHARS: u64 = 3;

/// What the window held when the provider last counted.
#[derive(Debug, Default)]
pub(super) struct Filled {
    tokens: u64,
    /// How many entries the history had then.
    entries: usize,
}

impl Filled {
    pub(super) fn count(&mut self, tokens: u64, entries: usize) {
        *self = Self { tokens, entries };
    }
}

impl Conversation {
    /// Puts old results aside when the next turn would find the window nearly full.
    pub(super) async fn room_for_a_turn(&mut self) {
        let Some(window) = self.config.window() else { return };
        if self.estimate() * 100 < window * FULL_AT {
            return;
        }
        let chars = self.machine.history().room_chars(KEEP_RECENT);
        if (chars as u64) / CHARS * 100 >= window * WORTH {
            let room = self.machine.history().room(KEEP_RECENT);
            self.put_aside(room).await;
        }
    }

    /// The conversation is too long already: everything but the latest results gives way.
    pub(super) async fn make_room(&mut self, keep: usize) -> Result<(), StopReason> {
        let room = self.machine.history().room(keep);
        self.put_aside(room).await;
        Ok(())
    }

    /// Tokens by the provider's last count, and what came since by its length.
    fn estimate(&self) -> u64 {
        let entries = self.machine.history().entries();
        let since = &entries[self.filled.entries.min(entries.len())..];
        self.filled.tokens + since.iter().map(length).sum::<u64>() / CHARS
    }

    async fn put_aside(&mut self, room: Vec<Room>) {
        let mut aside = Vec::with_capacity(room.len());
        for one in room {
            let chars = one.chars;
            let (entry, id) = (one.entry, one.id.clone());
            let kept = match (&self.config.results, one.whole) {
                (Some(results), Some(whole)) => {
                    let label = Label { caller: self.config.scope.caller.clone(), trust: one.trust };
                    let results = results.clone();
                    results.keep(whole.into(), label).await.map(Some)
                }
                _ => Ok(None),
            };
            let reference = kept.unwrap_or_else(|fault| {
                self.event(What::Fault { message: fault.to_string() });
                None
            });
            let reference = reference.map(|reference| reference.as_str().to_owned());
            aside.push(Aside { entry, id, reference, chars });
        }
        if !aside.is_empty() {
            let chars = aside.iter().map(|aside| aside.chars).sum();
            self.event(What::Compacted { results: aside.len(), chars });
            self.filled.tokens = self.filled.tokens.saturating_sub(chars as u64 / CHARS);
        }
        self.fact(Fact::Compacted { aside });
    }
}

/// Characters an entry will take, about.
fn length(entry: &Entry) -> u64 {
    let chars = match entry {
        Entry::Person { parts } => parts
            .iter()
            .map(|part| match part {
                crate::Part::Text { text } => text.len(),
                // Pictures are counted by their size in points, not by their bytes.
                crate::Part::Image { .. } => 5_000,
            })
            .sum(),
        Entry::Context { text, .. } => text.len(),
        Entry::Model(turn) => {
            turn.text.len() + turn.calls.iter().map(|call| call.input.len() + 50).sum::<usize>()
        }
        Entry::Results { answers } => answers.iter().map(|answer| crate::history::shown_length(answer)).sum(),
    };
    chars as u64
}
