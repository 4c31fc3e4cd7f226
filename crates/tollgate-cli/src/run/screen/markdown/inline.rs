//! Emphasis and code inside a line, understood as far as what has come allows.

use super::super::style::{Colour, Style};

/// What is open at a place in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Open {
    /// How many backticks end the code; 0 outside code.
    code: u8,
    bold: Option<char>,
    italic: Option<char>,
    struck: bool,
}

/// A character to be shown, what is open around it, and where its source ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) c: char,
    pub(super) open: Open,
    pub(super) end: usize,
}

/// What to make of a mark whose partner has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Partner {
    /// It may still come: stop before the mark.
    MayCome,
    /// There is no more room to wait: marks that nearly always have one are believed, the others are not.
    Believed,
    /// The line has ended without it: the mark is a character like any other.
    Missing,
}

impl Open {
    pub(super) fn style(self, base: Style) -> Style {
        if self.code > 0 {
            return Style { colour: Some(Colour::Cyan), ..base };
        }
        Style {
            bold: base.bold || self.bold.is_some(),
            italic: base.italic || self.italic.is_some(),
            struck: base.struck || self.struck,
            ..base
        }
    }
}

/// The cells of a text that begins inside `open`. Where a mark waits for its partner, they end before it.
pub(super) fn cells(raw: &str, open: Open, partner: Partner) -> Vec<Cell> {
    let mut reader = Reader { raw, at: 0, open, partner, cells: Vec::new() };
    while reader.step().is_some() {}
    reader.cells
}

struct Reader<'a> {
    raw: &'a str,
    at: usize,
    open: Open,
    partner: Partner,
    cells: Vec<Cell>,
}

impl Reader<'_> {
    /// Takes the next character or mark; `None` at the end, and where a mark must wait.
    fn step(&mut self) -> Option<()> {
        let rest = &self.raw[self.at..];
        let c = rest.chars().next()?;
        let is_mark = if self.open.code > 0 { c == '`' } else { matches!(c, '`' | '*' | '_' | '~') };
        if !is_mark {
            self.put(c);
            return Some(());
        }
        let run = rest.chars().take_while(|next| *next == c).count();
        // More of the same mark may come, and what follows decides what it means.
        if run == rest.len() && self.partner == Partner::MayCome {
            return None;
        }
        match self.meaning(c, run)? {
            Meaning::Mark(open) => {
                self.open = open;
                self.at += run;
            }
            Meaning::Text => (0..run).for_each(|_| self.put(c)),
        }
        Some(())
    }

    fn put(&mut self, c: char) {
        self.at += c.len_utf8();
        self.cells.push(Cell { c, open: self.open, end: self.at });
    }

    /// What a run of marks means here; `None` while its partner may still come.
    fn meaning(&self, c: char, run: usize) -> Option<Meaning> {
        let open = self.open;
        if open.code > 0 {
            let closes = run == usize::from(open.code);
            return Some(if closes { Meaning::Mark(Open { code: 0, ..open }) } else { Meaning::Text });
        }
        let before = self.raw[..self.at].chars().next_back();
        let after = self.raw[self.at + run..].chars().next();
        if let Some(closed) = closed(open, c, run)
            && may_close(c, before, after)
        {
            return Some(Meaning::Mark(closed));
        }
        let Some(opened) = opened(open, c, run).filter(|_| may_open(c, before, after)) else {
            return Some(Meaning::Text);
        };
        if self.has_partner(c, run) {
            return Some(Meaning::Mark(opened));
        }
        match self.partner {
            Partner::MayCome => None,
            Partner::Believed if c == '`' || run > 1 => Some(Meaning::Mark(opened)),
            Partner::Believed | Partner::Missing => Some(Meaning::Text),
        }
    }

    /// True when the same mark comes again and can close.
    fn has_partner(&self, c: char, run: usize) -> bool {
        let mut at = self.at + run;
        while let Some(found) = self.raw[at..].find(c) {
            let begins = at + found;
            let length = self.raw[begins..].chars().take_while(|next| *next == c).count();
            let before = self.raw[..begins].chars().next_back();
            let after = self.raw[begins + length..].chars().next();
            // At the end of what has come it may still grow into another mark.
            let whole = after.is_some() || self.partner != Partner::MayCome;
            if length == run && whole && (c == '`' || may_close(c, before, after)) {
                return true;
            }
            at = begins + length;
        }
        false
    }
}

enum Meaning {
    Mark(Open),
    Text,
}

fn opened(open: Open, c: char, run: usize) -> Option<Open> {
    match (c, run) {
        ('`', 1..=9) => u8::try_from(run).ok().map(|code| Open { code, ..open }),
        ('*' | '_', 1) if open.italic.is_none() => Some(Open { italic: Some(c), ..open }),
        ('*' | '_', 2) if open.bold.is_none() => Some(Open { bold: Some(c), ..open }),
        ('*' | '_', 3) if open.bold.is_none() && open.italic.is_none() => {
            Some(Open { bold: Some(c), italic: Some(c), ..open })
        }
        ('~', 2) if !open.struck => Some(Open { struck: true, ..open }),
        _ => None,
    }
}

fn closed(open: Open, c: char, run: usize) -> Option<Open> {
    match (c, run) {
        ('*' | '_', 1) if open.italic == Some(c) => Some(Open { italic: None, ..open }),
        ('*' | '_', 2) if open.bold == Some(c) => Some(Open { bold: None, ..open }),
        ('*' | '_', 3) if open.bold == Some(c) && open.italic == Some(c) => {
            Some(Open { bold: None, italic: None, ..open })
        }
        ('~', 2) if open.struck => Some(Open { struck: false, ..open }),
        _ => None,
    }
}

fn may_open(c: char, before: Option<char>, after: Option<char>) -> bool {
    let joined = before.is_some_and(char::is_alphanumeric);
    c == '`' || (after.is_some_and(|after| !after.is_whitespace()) && !(joined && c != '*'))
}

fn may_close(c: char, before: Option<char>, after: Option<char>) -> bool {
    let joined = after.is_some_and(char::is_alphanumeric);
    // Nothing before it: what it closes was shown already.
    before.is_none_or(|before| !before.is_whitespace()) && !(joined && c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells in a notation of our own: `<b:bold>`, `<i:italic>`, `<c:code>`, `<s:struck>`.
    fn told(raw: &str, partner: Partner) -> String {
        let mut out = String::new();
        let mut last = Open::default();
        for cell in cells(raw, Open::default(), partner) {
            if cell.open != last {
                if last != Open::default() {
                    out.push('>');
                }
                if cell.open != Open::default() {
                    out.push('<');
                    let marks = [
                        (cell.open.bold.is_some(), 'b'),
                        (cell.open.italic.is_some(), 'i'),
                        (cell.open.struck, 's'),
                        (cell.open.code > 0, 'c'),
                    ];
                    out.extend(marks.into_iter().filter(|(on, _)| *on).map(|(_, mark)| mark));
                    out.push(':');
                }
                last = cell.open;
            }
            out.push(cell.c);
        }
        if last != Open::default() {
            out.push('>');
        }
        out
    }

    #[test]
    fn marks_with_a_partner_are_emphasis_and_the_others_are_characters() {
        let cases = [
            ("plain", "plain"),
            ("a **bold** word", "a <b:bold> word"),
            ("a *leaning* and _leaning_ word", "a <i:leaning> and <i:leaning> word"),
            ("***both***", "<bi:both>"),
            ("~~gone~~", "<s:gone>"),
            ("`let x = *y;`", "<c:let x = *y;>"),
            ("``a ` b``", "<c:a ` b>"),
            ("pass *args and **kwargs", "pass *args and **kwargs"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("snake_case_name", "snake_case_name"),
            ("**a `b` c**", "<b:a ><bc:b><b: c>"),
            ("a ` alone", "a ` alone"),
            ("* * *", "* * *"),
            ("**", "**"),
        ];
        for (raw, expected) in cases {
            assert_eq!(told(raw, Partner::Missing), expected, "{raw}");
        }
    }

    #[test]
    fn while_a_partner_may_come_nothing_after_the_mark_is_decided() {
        assert_eq!(told("a **bo", Partner::MayCome), "a ");
        assert_eq!(told("a **bo", Partner::Believed), "a <b:bo>");
        assert_eq!(told("a *bo", Partner::Believed), "a *bo");
        assert_eq!(told("a **bold*", Partner::MayCome), "a ");
        assert_eq!(told("a **bold**", Partner::MayCome), "a ", "a third star would change it");
        assert_eq!(told("a **bold**.", Partner::MayCome), "a <b:bold>.");
    }
}
