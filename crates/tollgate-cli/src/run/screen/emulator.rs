//! A terminal for tests: obeys the few sequences the screen uses, and panics at any other.

use unicode_width::UnicodeWidthChar as _;

pub(crate) struct Emulator {
    columns: usize,
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The lowest row the cursor has been in: nothing above it by more than the window's height can be changed.
    pub(crate) highest_touched: usize,
}

impl Emulator {
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns, rows: vec![Vec::new()], row: 0, column: 0, highest_touched: 0 }
    }

    pub(crate) fn feed(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\n' => {
                    self.row += 1;
                    self.column = 0;
                    self.grow();
                }
                '\r' => self.column = 0,
                '\x1b' => {
                    assert_eq!(chars.next(), Some('['), "{text:?}");
                    let mut digits = String::new();
                    let end = loop {
                        match chars.next().expect("the end of a sequence") {
                            c @ ('0'..='9' | ';' | '?') => digits.push(c),
                            c => break c,
                        }
                    };
                    self.obey(&digits, end);
                }
                c => self.put(c),
            }
        }
    }

    fn obey(&mut self, digits: &str, end: char) {
        let count = digits.parse::<usize>().unwrap_or(1);
        match end {
            'A' => self.row = self.row.checked_sub(count).expect("the cursor left the screen"),
            'B' => self.row += count,
            'C' => self.column += count,
            'D' => self.column = self.column.checked_sub(count).expect("the cursor left the row"),
            'K' => self.rows[self.row].truncate(self.column),
            'J' => {
                self.rows[self.row].truncate(self.column);
                self.rows.truncate(self.row + 1);
            }
            'm' => {}
            'h' | 'l' if digits.starts_with('?') => {}
            other => panic!("nobody sends {digits}{other}"),
        }
        self.grow();
    }

    fn put(&mut self, c: char) {
        let wide = c.width().unwrap_or(0);
        if self.column + wide > self.columns {
            self.row += 1;
            self.column = 0;
            self.grow();
        }
        let row = &mut self.rows[self.row];
        while row.len() < self.column {
            row.push(' ');
        }
        row.truncate(self.column.max(row.len()));
        for at in 0..wide {
            let shown = if at == 0 { c } else { '\0' };
            if self.column + at < row.len() {
                row[self.column + at] = shown;
            } else {
                row.push(shown);
            }
        }
        self.column += wide;
    }

    fn grow(&mut self) {
        while self.rows.len() <= self.row {
            self.rows.push(Vec::new());
        }
        self.highest_touched = self.highest_touched.max(self.row);
    }

    /// What is to be seen, without spaces at the ends of rows and empty rows at the end.
    pub(crate) fn seen(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let text: String = row.iter().filter(|c| **c != '\0').collect();
            text.trim_end().to_owned()
        });
        rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}
