//! What is on the screen now, and how a change of it is written: above the rows that change, or later while somebody asks.

use std::time::Instant;

use super::{
    calls::{Calls, Line, Room},
    live::{Live, fitted},
    markdown::Markdown,
    style::{Style, painted},
    terminal::{Terminal, TextTo},
    width,
};
use crate::words::visible;

/// Everything the screen holds, behind its lock.
pub(super) struct State {
    pub(super) terminal: Terminal,
    pub(super) text_to: TextTo,
    pub(super) markdown: Markdown,
    pub(super) calls: Calls,
    pub(super) live: Live,
    /// What is waited for, when no call runs.
    pub(super) waits: Option<(Instant, String)>,
    /// What the person is typing meanwhile.
    pub(super) typing: String,
    /// Whoever read the text has gone away.
    pub(super) unread: bool,
    /// True between the first piece of a text and its end.
    pub(super) in_text: bool,
    pub(super) last: Last,
    /// While somebody asks: what was to be shown in the meantime.
    pub(super) held: Option<String>,
}

/// What was shown for good last; different things have an empty row between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Nothing,
    Text,
    Calls,
    Notes,
}

impl State {
    /// Lines as rows of the window; as they are where there is none.
    pub(super) fn wrapped(&self, text: &str) -> Vec<String> {
        let columns = self.terminal.size().0.saturating_sub(1);
        let rows = |line: &str| {
            let line = visible(line);
            if self.terminal.looks.is_terminal { width::wrap(&line, columns) } else { vec![line] }
        };
        text.lines().flat_map(rows).collect()
    }

    pub(super) fn room(&self) -> Room {
        let looks = self.terminal.looks;
        Room { columns: self.terminal.size().0, colours: looks.colours, cuts: looks.is_terminal }
    }

    /// Writes what `change` writes above the rows that change.
    pub(super) fn show(&mut self, change: impl FnOnce(&mut Self, &mut String)) {
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
    pub(super) fn draw(&mut self) {
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
    pub(super) fn settled(&mut self) {
        if self.in_text {
            return self.draw();
        }
        let lines = self.calls.take_settled();
        self.keep_calls(&lines);
        self.draw();
    }

    pub(super) fn keep_calls(&mut self, lines: &[Line]) {
        if lines.is_empty() {
            return;
        }
        let room = self.room();
        let text: String = lines.iter().map(|line| line.text(room)).collect();
        self.keep(Last::Calls, &text);
    }

    /// Writes lines that stay.
    pub(super) fn keep(&mut self, kind: Last, lines: &str) {
        let mut text = String::new();
        if self.in_text && self.text_to == TextTo::Screen && self.terminal.looks.moves {
            self.show(|state, out| state.markdown.end(out));
        }
        self.gap(kind, &mut text);
        text.push_str(lines);
        self.show(|_, out| out.push_str(&text));
    }

    /// An empty row between things of different kinds; none where nobody looks.
    pub(super) fn gap(&mut self, next: Last, out: &mut String) {
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
