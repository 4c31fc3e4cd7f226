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
#[cfg(test)]
mod emulator;
#[cfg(test)]
mod tests;

pub(crate) use about::{About, Expand, counted};
pub(crate) use calls::Key;
pub(crate) use terminal::{Stage, Terminal, TextTo};

use calls::{Calls, Line, Room};
use live::{Live, fitted};
use markdown::Markdown;
use style::{Style, painted};

use crate::words::{is_hidden, visible};

/// The screen, shared by whoever shows something and whoever asks.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Mutex<State>>);

struct State {
    terminal: Terminal,
    text_to: TextTo,
    markdown: Markdown,
    calls: Calls,
    live: Live,
    /// What is waited for, when no call runs.
    waits: Option<(Instant, String)>,
    /// What the person is typing meanwhile.
    typing: String,
    /// Whoever read the text has gone away.
    unread: bool,
    /// True between the first piece of a text and its end.
    in_text: bool,
    last: Last,
    /// While somebody asks: what was to be shown in the meantime.
    held: Option<String>,
}

/// What was shown for good last; different things have an empty row between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Text,
    Calls,
    Notes,
}

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

impl State {
    /// Lines as rows of the window; as they are where there is none.
    fn wrapped(&self, text: &str) -> Vec<String> {
        let columns = self.terminal.size().0.saturating_sub(1);
        let rows = |line: &str| {
            let line = visible(line);
            if self.terminal.looks.is_terminal { width::wrap(&line, columns) } else { vec![line] }
        };
        text.lines().flat_map(rows).collect()
    }

    fn room(&self) -> Room {
        let looks = self.terminal.looks;
        Room { columns: self.terminal.size().0, colours: looks.colours, cuts: looks.is_terminal }
    }

    /// Writes what `change` writes above the rows that change.
    fn show(&mut self, change: impl FnOnce(&mut Self, &mut String)) {
        let mut out = String::new();
        if self.held.is_some() {
            change(self, &mut out);
            self.held.get_or_insert_default().push_str(&out);
            return;
        }
        let columns = self.terminal.size().0;
        let changing = self.terminal.looks.moves && (!self.live.is_empty() || self.has_rows());
        if changing {
            out.push_str(SYNC_ON);
        }
        self.live.take_away(columns, &mut out);
        change(self, &mut out);
        if changing {
            let rows = self.rows();
            let above = if self.in_text { self.markdown.cursor() } else { 0 };
            self.live.draw(&rows, above, &mut out);
            out.push_str(SYNC_OFF);
        }
        self.terminal.write(&out);
    }

    /// Draws the rows that change anew.
    fn draw(&mut self) {
        if self.held.is_some() || !self.terminal.looks.moves {
            return;
        }
        let mut out = String::new();
        let columns = self.terminal.size().0;
        let rows = self.rows();
        if self.live.is_empty() || rows.is_empty() {
            return self.show(|_, _| {});
        }
        self.live.redraw(&rows, columns, &mut out);
        self.terminal.write(&format!("{SYNC_ON}{out}{SYNC_OFF}"));
    }

    fn has_rows(&self) -> bool {
        !self.calls.is_empty() || self.waits.is_some() || !self.typing.is_empty()
    }

    fn rows(&self) -> Vec<(usize, String)> {
        let (columns, rows) = self.terminal.size();
        let room = self.room();
        let most = rows.saturating_sub(3).max(1);
        let mut lines = if self.calls.is_empty() {
            let waits = self.waits.as_ref().map(|(since, what)| waiting(*since, what, room));
            waits.into_iter().collect()
        } else {
            self.calls.rows(Instant::now(), most, room)
        };
        if !self.typing.is_empty() {
            // Of a long line its end is what is being typed.
            let fits = columns.saturating_sub(4);
            let skipped = self.typing.chars().count().saturating_sub(fits);
            let end: String = self.typing.chars().skip(skipped).collect();
            lines.push(fitted(&format!("> {end}"), columns));
        }
        for (wide, _) in &mut lines {
            *wide = (*wide).min(columns);
        }
        lines
    }

    /// Shows for good what has settled. While a text is coming it waits for the text's end.
    fn settled(&mut self) {
        if self.in_text && self.text_to == TextTo::Screen {
            return self.draw();
        }
        let lines = self.calls.take_settled();
        self.keep_calls(&lines);
        self.draw();
    }

    fn keep_calls(&mut self, lines: &[Line]) {
        if lines.is_empty() {
            return;
        }
        let room = self.room();
        let text: String = lines.iter().map(|line| line.text(room)).collect();
        self.keep(Last::Calls, &text);
    }

    /// Writes lines that stay.
    fn keep(&mut self, kind: Last, lines: &str) {
        let mut text = String::new();
        if self.in_text && self.text_to == TextTo::Screen && self.terminal.looks.moves {
            self.show(|state, out| state.markdown.end(out));
        }
        self.gap(kind, &mut text);
        text.push_str(lines);
        self.show(|_, out| out.push_str(&text));
    }

    /// An empty row between things of different kinds; none where nobody looks.
    fn gap(&mut self, next: Last, out: &mut String) {
        let apart = matches!((self.last, next), (Last::Text, _) | (Last::Calls | Last::Notes, Last::Text));
        if apart && self.last != next && self.terminal.looks.is_terminal && self.text_to == TextTo::Screen {
            out.push('\n');
        }
        self.last = next;
    }
}

const SYNC_ON: &str = "\x1b[?2026h";
const SYNC_OFF: &str = "\x1b[?2026l";

fn waiting(since: Instant, what: &str, room: Room) -> (usize, String) {
    const DOTS: [&str; 4] = ["·  ", "·· ", "···", " ··"];
    let waited = since.elapsed();
    let dots = DOTS[usize::try_from(waited.as_millis() / 300).unwrap_or(0) % DOTS.len()];
    let seconds = if waited.as_secs() >= 2 { format!("  {} s", waited.as_secs()) } else { String::new() };
    let (wide, text) = fitted(&format!("{dots} {what}{seconds}"), room.columns);
    (wide, painted(Style::DIM, &text, room.colours))
}
