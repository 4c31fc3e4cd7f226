//! Markdown that arrives in pieces, shown as it comes: what has been shown for good is never touched again.
//!
//! The end of the current row is on screen at once and may be taken back while its meaning is open: half a mark,
//! a word that will not fit. Nothing above the current row is.

use super::{
    style::Style,
    width::{self, of},
};
use crate::words::is_hidden;

mod block;
mod inline;
mod rows;

use block::{Block, Fence, known};
use inline::{Cell, Open, Partner, cells};
use rows::{Glyph, Out, glyphs_width};

/// The renderer of one text.
#[derive(Debug)]
pub(crate) struct Markdown {
    colours: bool,
    /// One column less than there are: a terminal's last one makes the cursor's place uncertain.
    usable: usize,
    fence: Option<Fence>,
    /// What the fence will be when this line has ended.
    after: Option<Fence>,
    /// What the line is; `None` while it is not known.
    block: Option<Block>,
    /// The part of the line that is not shown for good.
    raw: String,
    open: Open,
    /// Where the line's later rows begin.
    hang: usize,
    column: usize,
    /// True at the beginning of a row that the line was broken into.
    broken: bool,
    /// The beginning of this word is shown already: it was longer than a row.
    joined: bool,
    /// What is on screen and may be taken back.
    shown: Vec<Glyph>,
    /// What is to be shown for good.
    fixed: Vec<Out>,
    /// The last character that came, for marks that belong to the one before them.
    last: char,
}

impl Markdown {
    pub(crate) fn new(colours: bool, columns: usize) -> Self {
        Self {
            colours,
            usable: usable(columns),
            fence: None,
            after: None,
            block: None,
            raw: String::new(),
            open: Open::default(),
            hang: 0,
            column: 0,
            broken: false,
            joined: false,
            shown: Vec::new(),
            fixed: Vec::new(),
            last: '\n',
        }
    }

    /// The window has so many columns from now on.
    pub(crate) fn resize(&mut self, columns: usize) {
        let before = std::mem::replace(&mut self.usable, usable(columns));
        if before != self.usable && self.cursor() > self.usable {
            // The terminal has broken the row itself: what stands there is left as it is.
            self.column = self.cursor() % columns.max(1);
            self.shown.clear();
            self.raw.clear();
        }
    }

    /// In which column the cursor stands.
    pub(crate) fn cursor(&self) -> usize {
        self.column + glyphs_width(&self.shown)
    }

    /// Shows a piece of text.
    pub(crate) fn push(&mut self, text: &str, out: &mut String) {
        let mut lines = text.split('\n');
        if let Some(first) = lines.next() {
            self.take(first);
        }
        for line in lines {
            self.end_line();
            self.take(line);
        }
        self.settle(false);
        self.flush(out);
    }

    /// Ends the text; the cursor stands at the beginning of a row.
    pub(crate) fn end(&mut self, out: &mut String) {
        if !self.raw.is_empty() || self.column > 0 {
            self.end_line();
        }
        self.flush(out);
        *self = Self::new(self.colours, self.usable + 1);
    }

    fn take(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                // How an emoji is to be drawn; nothing is hidden by it.
                '\u{fe0f}' if !self.last.is_alphanumeric() && !self.last.is_ascii() => {}
                '\r' => {}
                c if is_hidden(c) => self.raw.extend(c.escape_unicode()),
                c => self.raw.push(c),
            }
            self.last = c;
        }
    }

    fn end_line(&mut self) {
        self.settle(true);
        self.fixed.push(Out::Break);
        self.fence = self.after;
        (self.block, self.open, self.hang, self.column) = (None, Open::default(), 0, 0);
        (self.broken, self.joined) = (false, false);
        self.raw.clear();
    }

    /// Shows for good what can mean nothing else any more.
    fn settle(&mut self, ended: bool) {
        if self.block.is_none() && !self.begin(ended) {
            return;
        }
        match self.block {
            Some(Block::Code | Block::Fence) => self.verbatim(),
            Some(Block::Rule) => {
                let length = self.usable.min(40);
                (0..length).for_each(|_| self.put('─', Style::DIM));
                self.raw.clear();
            }
            Some(Block::Blank) | None => {}
            Some(_) if ended => {
                let cells = self.cells(Partner::Missing);
                self.words(&cells);
                self.raw.clear();
            }
            Some(_) => self.prose(),
        }
    }

    /// Learns what the line is, and shows its mark.
    fn begin(&mut self, ended: bool) -> bool {
        let Some(mut known) = known(&self.raw, ended, self.fence) else { return false };
        if known.block == Block::Heading && !self.colours {
            // Without bold letters its own marks are all that tells a heading.
            (known.taken, known.shown) = (0, String::new());
        }
        self.after = match (known.block, self.fence) {
            (Block::Fence, None) => {
                let text = self.raw.trim_start();
                let mark = text.chars().next().unwrap_or('`');
                Some(Fence { mark, count: text.chars().take_while(|c| *c == mark).count() })
            }
            (Block::Fence, Some(_)) => None,
            (_, fence) => fence,
        };
        self.block = Some(known.block);
        self.raw.drain(..known.taken);
        let style = if known.block == Block::Quote { Style::DIM } else { Style::PLAIN };
        known.shown.chars().for_each(|c| self.put(c, style));
        self.hang = match known.block {
            Block::Code | Block::TableRow => 2,
            _ => width::of_text(&known.shown),
        };
        self.hang = self.hang.min(self.usable / 2);
        true
    }

    /// Code is shown as it is, and broken only where the row ends.
    fn verbatim(&mut self) {
        let style = if self.block == Some(Block::Fence) { Style::DIM } else { Style::PLAIN };
        for c in std::mem::take(&mut self.raw).chars() {
            if c == '\t' {
                let spaces = 4 - self.column % 4;
                (0..spaces).for_each(|_| self.put_or_break(' ', style));
            } else {
                self.put_or_break(c, style);
            }
        }
    }

    /// Whole words are shown for good as long as no mark before them waits for its partner.
    fn prose(&mut self) {
        loop {
            let cells = self.cells(Partner::MayCome);
            self.take_words(&cells);
            if self.column + self.tail_width() <= self.usable {
                return;
            }
            if self.column > self.hang && !self.raw.contains(' ') && !self.joined {
                self.break_row();
                continue;
            }
            // The row is full, and waits no longer.
            let cells = self.cells(Partner::Believed);
            if !self.take_words(&cells) {
                self.words(&cells);
                if let Some(last) = cells.last() {
                    // A mark after it is for what comes.
                    self.open = last.open;
                    self.raw.drain(..last.end);
                }
                self.joined = true;
                return;
            }
        }
    }

    /// Shows every word that has ended; `false` where there is none.
    fn take_words(&mut self, cells: &[Cell]) -> bool {
        let Some(last) = cells.iter().rposition(|cell| cell.c == ' ') else { return false };
        self.words(&cells[..=last]);
        self.open = cells[last].open;
        self.raw.drain(..cells[last].end);
        true
    }

    /// Shows these, broken between words where a row is full.
    fn words(&mut self, cells: &[Cell]) {
        for piece in cells.chunk_by(|one, next| (one.c == ' ') == (next.c == ' ')) {
            if piece[0].c == ' ' {
                self.joined = false;
                let room = self.usable.saturating_sub(self.column);
                let spaces = if self.broken && self.column <= self.hang { 0 } else { piece.len().min(room) };
                piece[..spaces].iter().for_each(|cell| self.put(' ', self.style(*cell)));
                continue;
            }
            let wide: usize = piece.iter().map(|cell| of(cell.c)).sum();
            if self.column + wide > self.usable && self.column > self.hang && !self.joined {
                self.break_row();
            }
            piece.iter().for_each(|cell| self.put_or_break(cell.c, self.style(*cell)));
        }
    }

    fn cells(&self, partner: Partner) -> Vec<Cell> {
        if self.colours {
            return cells(&self.raw, self.open, partner);
        }
        // Without colours the marks themselves are what tells emphasis.
        let plain = |(at, c): (usize, char)| Cell { c, open: Open::default(), end: at + c.len_utf8() };
        self.raw.char_indices().map(plain).collect()
    }

    fn style(&self, cell: Cell) -> Style {
        let base = match self.block {
            Some(Block::Heading) => Style::BOLD,
            Some(Block::TableRow) if cell.c == '|' => Style::DIM,
            _ => Style::PLAIN,
        };
        cell.open.style(base)
    }
}

fn usable(columns: usize) -> usize {
    columns.saturating_sub(1).max(4)
}

#[cfg(test)]
mod tests;
