//! What a person sees of a run: the model's text as it comes, calls while they run, and what came of them.
//!
//! Text and settled calls are written once and scroll by. Below them are a few rows that change: the calls that run.
//! Where the cursor cannot be moved, those rows are left out and everything else is the same.

use std::{
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

pub(crate) mod style;
pub(crate) mod width;
pub(crate) mod about;
mod markdown;
mod live;
mod calls;
mod terminal;
mod state;
#[cfg(test)]
mod emulator;
#[cfg(test)]
mod tests;

pub(crate) use about::{About, Expand, counted};
pub(crate) use calls::Key;
pub(crate) use terminal::{Stage, Terminal, TextTo};

use calls::Calls;
use live::Live;
use markdown::Markdown;
use state::{Last, State};
use style::{Style, painted};

use crate::words::{is_hidden, visible};

/// The screen, shared by whoever shows something and whoever asks.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Mutex<State>>);

impl Screen {
    pub(crate) fn new(terminal: Terminal, text_to: TextTo) -> Self {
        let markdown = Markdown::new(terminal.looks.colours, terminal.size().0);
        Self(Arc::new(Mutex::new(State {
            terminal,
            text_to,
            markdown,
            calls: Calls::default(),
            live: Live::default(),
            waits: None,
            typing: String::new(),
            unread: false,
            in_text: false,
            last: Last::Nothing,
            held: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More of the model's text.
    pub(crate) fn text(&self, piece: &str) {
        let mut state = self.state();
        state.waits = None;
        if state.text_to == TextTo::Stdout {
            // Somebody else's data: as it came, at once.
            let mut out = std::io::stdout().lock();
            let written = out.write_all(piece.as_bytes()).and_then(|()| out.flush());
            state.unread |= written.is_err();
            state.in_text = true;
            return;
        }
        let mut shown = String::new();
        if !state.in_text {
            state.gap(Last::Text, &mut shown);
        }
        state.in_text = true;
        if state.terminal.looks.moves {
            let columns = state.terminal.size().0;
            state.markdown.resize(columns);
            state.show(|state, out| {
                out.push_str(&shown);
                state.markdown.push(piece, out);
            });
        } else {
            shown.extend(piece.chars().flat_map(|c| {
                let escaped = is_hidden(c) && c != '\n';
                let (plain, number) =
                    if escaped { (None, Some(c.escape_unicode())) } else { (Some(c), None) };
                plain.into_iter().chain(number.into_iter().flatten())
            }));
            state.show(|_, out| out.push_str(&shown));
        }
    }

    /// True where nobody reads the text any more.
    pub(crate) fn is_unread(&self) -> bool {
        self.state().unread
    }

    /// The text is over.
    pub(crate) fn end_text(&self) {
        let mut state = self.state();
        if !std::mem::take(&mut state.in_text) {
            return;
        }
        if state.text_to == TextTo::Stdout {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(b"\n").and_then(|()| out.flush());
        } else {
            state.show(|state, out| {
                if state.terminal.looks.moves {
                    state.markdown.end(out);
                } else {
                    out.push('\n');
                }
            });
        }
        state.settled();
    }

    /// The model proposes a call.
    pub(crate) fn proposed(&self, key: Key, depth: usize, title: String) {
        let mut state = self.state();
        state.waits = None;
        state.calls.propose(key, depth, title);
        state.draw();
    }

    pub(crate) fn started(&self, key: &Key) {
        let mut state = self.state();
        state.calls.start(key, Instant::now());
        state.draw();
    }

    /// Drawn with the next beat: progress may come faster than anyone looks.
    pub(crate) fn progress(&self, key: &Key, fraction: f32, message: &str) {
        self.state().calls.progress(key, fraction, message);
    }

    pub(crate) fn call_settled(&self, key: &Key, about: About, took: Duration) {
        let mut state = self.state();
        state.calls.settle(key, about, took);
        state.settled();
    }

    /// An early answer does not count: the call is not on screen any more.
    pub(crate) fn discarded(&self, key: &Key) {
        let mut state = self.state();
        state.calls.forget(key);
        state.draw();
    }

    /// Says what is waited for; nothing when nothing is.
    pub(crate) fn waits(&self, what: Option<&str>) {
        let mut state = self.state();
        state.waits = what.map(|what| (Instant::now(), visible(what)));
        state.draw();
    }

    /// What the person has typed of a line while the run goes on.
    pub(crate) fn typing(&self, text: &str) {
        let mut state = self.state();
        state.typing = visible(&text.replace('\n', "⏎"));
        state.draw();
    }

    /// The model thinks; its words are not shown.
    pub(crate) fn thinks(&self) {
        let mut state = self.state();
        if let Some((_, what)) = &mut state.waits {
            "thinking".clone_into(what);
        }
    }

    /// A line of ours.
    pub(crate) fn note(&self, text: &str) {
        let mut state = self.state();
        let dim = |row: String| painted(Style::DIM, &row, state.terminal.looks.colours) + "\n";
        let text: String = state.wrapped(text).into_iter().map(dim).collect();
        state.keep(Last::Notes, &text);
    }

    /// Lines that are not dimmed: a list, an answer of ours.
    pub(crate) fn lines(&self, text: &str) {
        let mut state = self.state();
        let lines: String = state.wrapped(text).into_iter().map(|row| row + "\n").collect();
        state.keep(Last::Notes, &lines);
    }

    /// Time has passed: spinners turn.
    pub(crate) fn beat(&self) {
        let mut state = self.state();
        if !state.calls.is_empty() || state.waits.is_some() {
            state.draw();
        }
    }

    /// Nothing more will come: what changes is taken away, and what was left open is said to be so.
    pub(crate) fn close(&self) {
        self.end_text();
        let mut state = self.state();
        state.waits = None;
        let left = state.calls.take_all();
        state.keep_calls(&left);
        state.draw();
    }

    /// Gives the terminal to somebody who asks, and takes it back when they are done.
    pub(crate) fn aside(&self) -> Aside {
        let mut state = self.state();
        let mut out = String::new();
        let columns = state.terminal.size().0;
        state.live.take_away(columns, &mut out);
        if state.in_text && state.text_to == TextTo::Screen && state.markdown.cursor() > 0 {
            state.markdown.end(&mut out);
        }
        state.terminal.write(&out);
        state.held.get_or_insert_default();
        Aside(self.clone())
    }
}

/// The terminal is somebody else's while this lives.
pub(crate) struct Aside(Screen);

impl Drop for Aside {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if let Some(held) = state.held.take() {
            state.terminal.write(&held);
        }
        state.settled();
    }
}
