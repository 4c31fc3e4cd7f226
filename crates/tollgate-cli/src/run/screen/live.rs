//! The rows at the bottom that change while calls run. They are rewritten in place and leave nothing behind.

use std::fmt::Write as _;

use super::width;

/// What stands there now.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// How wide each row is that was drawn.
    drawn: Vec<usize>,
    /// In which column the text above ends.
    above: usize,
}

impl Live {
    pub(crate) fn is_empty(&self) -> bool {
        self.drawn.is_empty()
    }

    /// Takes the rows away; the cursor stands where the text above ended.
    pub(crate) fn take_away(&mut self, columns: usize, out: &mut String) {
        if self.drawn.is_empty() {
            return;
        }
        let rows = self.rows(columns) - 1 + usize::from(self.above > 0);
        to_first(rows, out);
        if self.above > 0 {
            let _ = write!(out, "\x1b[{}C", self.above);
        }
        out.push_str("\x1b[J");
        self.drawn.clear();
    }

    /// Draws rows below text that ends in column `above`. Each has to fit.
    pub(crate) fn draw(&mut self, lines: &[(usize, String)], above: usize, out: &mut String) {
        if lines.is_empty() {
            return;
        }
        self.above = above;
        if above > 0 {
            out.push('\n');
        }
        let rows: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        out.push_str(&rows.join("\n"));
        self.drawn = lines.iter().map(|(wide, _)| *wide).collect();
    }

    /// Draws rows over those that stand there, without taking them away first.
    pub(crate) fn redraw(&mut self, lines: &[(usize, String)], columns: usize, out: &mut String) {
        if self.drawn.is_empty() || lines.is_empty() {
            let above = self.above;
            self.take_away(columns, out);
            self.draw(lines, above, out);
            return;
        }
        to_first(self.rows(columns) - 1, out);
        let rows: Vec<String> = lines.iter().map(|(_, line)| format!("{line}\x1b[K")).collect();
        out.push_str(&rows.join("\n"));
        out.push_str("\x1b[J");
        self.drawn = lines.iter().map(|(wide, _)| *wide).collect();
    }

    /// How many rows they take. A window that was made narrower has broken those that no longer fit.
    fn rows(&self, columns: usize) -> usize {
        self.drawn.iter().map(|wide| wide.div_ceil(columns.max(1)).max(1)).sum()
    }
}

/// To the beginning of the row so many rows up.
fn to_first(rows: usize, out: &mut String) {
    out.push('\r');
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}A");
    }
}

/// A row of plain text, cut to the room there is, with its width.
pub(crate) fn fitted(text: &str, columns: usize) -> (usize, String) {
    let shown = width::cut(text, columns.saturating_sub(1));
    (width::of_text(&shown), shown)
}

#[cfg(test)]
mod tests {
    use super::{super::emulator::Emulator, *};

    fn lines(texts: &[&str], columns: usize) -> Vec<(usize, String)> {
        texts.iter().map(|text| fitted(text, columns)).collect()
    }

    #[test]
    fn rows_are_rewritten_in_place_and_taken_away_whole() {
        let (mut live, mut screen) = (Live::default(), Emulator::new(30));
        let mut send = |change: &mut dyn FnMut(&mut Live, &mut String)| {
            let mut out = String::new();
            change(&mut live, &mut out);
            screen.feed(&out);
            screen.seen()
        };
        send(&mut |_, out| out.push_str("some text"));
        let seen = send(&mut |live, out| live.draw(&lines(&["| one", "| two"], 30), 9, out));
        assert_eq!(seen, "some text\n| one\n| two");
        let seen = send(&mut |live, out| live.redraw(&lines(&["/ one 50%"], 30), 30, out));
        assert_eq!(seen, "some text\n/ one 50%");
        let seen = send(&mut |live, out| live.redraw(&lines(&["- one", "- two", "- three"], 30), 30, out));
        assert_eq!(seen, "some text\n- one\n- two\n- three");
        let seen = send(&mut |live, out| {
            live.take_away(30, out);
            out.push_str(" goes on");
        });
        assert_eq!(seen, "some text goes on");
    }
}
