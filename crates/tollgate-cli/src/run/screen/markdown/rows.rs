//! From characters to rows: what is shown for good, and the end of the row that may still be taken back.

use std::fmt::Write as _;

use super::{super::style::Style, super::width::of, Markdown, inline::Partner};

/// A character as it is shown.
pub(super) type Glyph = (char, Style);

/// What is written to the screen.
#[derive(Debug)]
pub(super) enum Out {
    Glyph(Glyph),
    Break,
}

impl Markdown {
    pub(super) fn put_or_break(&mut self, c: char, style: Style) {
        if self.column + of(c) > self.usable {
            self.break_row();
        }
        self.put(c, style);
    }

    pub(super) fn put(&mut self, c: char, style: Style) {
        self.column += of(c);
        self.fixed.push(Out::Glyph((c, style)));
    }

    pub(super) fn break_row(&mut self) {
        self.fixed.push(Out::Break);
        (self.column, self.broken) = (0, true);
        (0..self.hang).for_each(|_| self.put(' ', Style::PLAIN));
    }

    /// What is on screen, or will be, and is not decided.
    fn tail(&self) -> Vec<Glyph> {
        if self.block.is_none() {
            return self.raw.chars().map(|c| (c, Style::PLAIN)).collect();
        }
        let cells = self.cells(Partner::MayCome);
        let rest = cells.last().map_or(0, |cell| cell.end);
        let decided = cells.iter().map(|cell| (cell.c, self.style(*cell)));
        decided.chain(self.raw[rest..].chars().map(|c| (c, Style::PLAIN))).collect()
    }

    pub(super) fn tail_width(&self) -> usize {
        glyphs_width(&self.tail())
    }

    /// Writes what has changed.
    pub(super) fn flush(&mut self, out: &mut String) {
        let mut tail = self.tail();
        // A beginning that is not understood yet and has no room is shown when it is.
        if self.column + glyphs_width(&tail) > self.usable {
            tail.clear();
        }
        let fixed = std::mem::take(&mut self.fixed);
        let all = fixed.into_iter().chain(tail.iter().map(|glyph| Out::Glyph(*glyph))).collect::<Vec<_>>();
        let before = std::mem::replace(&mut self.shown, tail);
        let same = before.len() <= all.len()
            && before.iter().zip(&all).all(|(glyph, out)| matches!(out, Out::Glyph(new) if new == glyph));
        let new = if same {
            &all[before.len()..]
        } else {
            let back = glyphs_width(&before);
            if back > 0 {
                let _ = write!(out, "\x1b[{back}D");
            }
            out.push_str("\x1b[K");
            &all[..]
        };
        self.write(new, out);
    }

    fn write(&self, new: &[Out], out: &mut String) {
        let mut style = Style::PLAIN;
        for one in new {
            let (c, wanted) = match one {
                Out::Glyph(glyph) => *glyph,
                Out::Break => ('\n', Style::PLAIN),
            };
            if self.colours && wanted != style {
                wanted.begin(out);
                style = wanted;
            }
            out.push(c);
        }
        if style != Style::PLAIN {
            out.push_str("\x1b[0m");
        }
    }
}

pub(super) fn glyphs_width(glyphs: &[Glyph]) -> usize {
    glyphs.iter().map(|(c, _)| of(*c)).sum()
}
