//! One line that a person changes.

use super::{keys::Key, tty::Talk};
use crate::{run::width, words::visible};

/// A line and the place in it where the next character goes.
#[derive(Debug, Default)]
struct Line {
    text: Vec<char>,
    at: usize,
}

/// A line that is typed while something else is shown: where it stands is for others to show.
#[derive(Debug, Default)]
pub(crate) struct Typing {
    line: Line,
    pasting: bool,
}

impl Typing {
    /// Takes a key; the whole line where that ended it.
    pub(crate) fn press(&mut self, key: Key) -> Option<String> {
        match key {
            Key::Paste | Key::PasteEnd => self.pasting = key == Key::Paste,
            Key::Enter if self.pasting => self.line.press(Key::Char('\n')),
            Key::Enter => {
                let text: String = std::mem::take(&mut self.line).text.into_iter().collect();
                return Some(text.trim().to_owned()).filter(|text| !text.is_empty());
            }
            key => self.line.press(key),
        }
        None
    }

    pub(crate) fn text(&self) -> String {
        self.line.text.iter().collect()
    }
}

/// How the changing of a line ended.
pub(crate) enum Edited {
    Text(String),
    /// They would rather not.
    Back,
    /// Ctrl-D.
    Stop,
    /// Ctrl-C.
    Interrupt,
    Gone,
}

/// Lets the person change a line that begins as `text`.
pub(crate) async fn edit(talk: &mut Talk<'_>, prompt: &str, text: &str) -> Edited {
    edit_with(talk, prompt, text, &[]).await
}

/// The same, with lines to go back to, the latest last.
pub(crate) async fn edit_with(talk: &mut Talk<'_>, prompt: &str, text: &str, earlier: &[String]) -> Edited {
    let mut line = Line { text: text.chars().collect(), at: text.chars().count() };
    let mut row = line.show(talk, prompt, 0);
    let (mut pasting, mut back) = (false, 0);
    loop {
        let ended = match talk.key().await {
            Key::Paste => {
                pasting = true;
                continue;
            }
            Key::PasteEnd => {
                pasting = false;
                row = line.show(talk, prompt, row);
                continue;
            }
            // The lines of what is pasted are one message.
            Key::Enter if pasting => {
                line.press(Key::Char('\n'));
                continue;
            }
            key if pasting && key != Key::Gone => {
                line.press(if key == Key::Ctrl('i') { Key::Char('\t') } else { key });
                continue;
            }
            key @ (Key::Up | Key::Down) => {
                back = if key == Key::Up { (back + 1).min(earlier.len()) } else { back.saturating_sub(1) };
                let chosen = earlier.len().checked_sub(back).and_then(|at| earlier.get(at));
                line.text = chosen.map_or_else(Vec::new, |text| text.chars().collect());
                line.at = line.text.len();
                row = line.show(talk, prompt, row);
                continue;
            }
            Key::Enter => Edited::Text(line.text.iter().collect()),
            Key::Escape => Edited::Back,
            Key::Ctrl('d') => Edited::Stop,
            Key::Ctrl('c') => Edited::Interrupt,
            Key::Gone => Edited::Gone,
            key => {
                line.press(key);
                row = line.show(talk, prompt, row);
                continue;
            }
        };
        talk.say("\n");
        return ended;
    }
}

impl Line {
    fn press(&mut self, key: Key) {
        match key {
            Key::Char(c) => {
                self.text.insert(self.at, c);
                self.at += 1;
            }
            Key::Backspace if self.at > 0 => {
                self.at -= 1;
                self.text.remove(self.at);
            }
            Key::Delete if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            Key::Left | Key::Ctrl('b') => self.at = self.at.saturating_sub(1),
            Key::Right | Key::Ctrl('f') => self.at = (self.at + 1).min(self.text.len()),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = self.text.len(),
            Key::Ctrl('u') => {
                self.text.drain(..std::mem::take(&mut self.at));
            }
            Key::Ctrl('k') => self.text.truncate(self.at),
            Key::Ctrl('w') => {
                let before = &self.text[..self.at];
                let end = before.iter().rposition(|c| *c != ' ').map_or(0, |last| last + 1);
                let start = before[..end].iter().rposition(|c| *c == ' ').map_or(0, |space| space + 1);
                self.text.drain(start..self.at);
                self.at = start;
            }
            _ => {}
        }
    }

    /// Shows the line anew, the cursor in its place, and says in which row of it the cursor stands.
    fn show(&self, talk: &Talk<'_>, prompt: &str, row: usize) -> usize {
        let one_row = |c: &char| if *c == '\n' { '⏎' } else { *c };
        let shown = |part: &[char]| visible(&part.iter().map(one_row).collect::<String>());
        let (before, after) = (shown(&self.text[..self.at]), shown(&self.text[self.at..]));
        let width = talk.width();
        let place = width::of_text(prompt) + width::of_text(&before);
        let end = place + width::of_text(&after);
        let up = |rows: usize| if rows > 0 { format!("\x1b[{rows}A") } else { String::new() };
        let right = |columns: usize| if columns > 0 { format!("\x1b[{columns}C") } else { String::new() };
        // A space after the last character brings the cursor to the row it belongs to.
        talk.say(&format!(
            "{}\r\x1b[J{prompt}{before}{after} {}\r{}",
            up(row),
            up(end / width - place / width),
            right(place % width)
        ));
        place / width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(text: &str, keys: &[Key]) -> String {
        let mut line = Line { text: text.chars().collect(), at: text.chars().count() };
        keys.iter().for_each(|key| line.press(*key));
        line.text.iter().collect()
    }

    #[test]
    fn a_line_is_changed_where_the_cursor_stands() {
        use Key::{Backspace, Char, Ctrl, Delete, End, Home, Left, Right};
        let cases: [(&[Key], &str); 8] = [
            (&[Char('!')], "git push *!"),
            (&[Backspace, Backspace], "git push"),
            (&[Left, Left, Char('x')], "git pushx *"),
            (&[Home, Delete, Right, Char('x')], "ixt push *"),
            (&[Home, Right, Ctrl('k'), End, Char('o')], "go"),
            (&[Ctrl('u'), Backspace, Left, Char('y')], "y"),
            (&[Ctrl('w'), Ctrl('w')], "git "),
            (&[Home, Backspace, Left, Ctrl('w'), Ctrl('u')], "git push *"),
        ];
        for (keys, expected) in cases {
            assert_eq!(pressed("git push *", keys), expected, "{keys:?}");
        }
    }
}
