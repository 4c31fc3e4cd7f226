//! How much room text takes on a screen, and text cut to the room there is.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The columns a character takes.
pub(crate) fn of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The columns a text takes.
pub(crate) fn of_text(text: &str) -> usize {
    text.width()
}

/// The text in at most so many columns; what was cut is marked.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if of_text(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut shown = String::new();
    let mut taken = 0;
    for c in text.chars() {
        taken += of(c);
        if taken > room {
            break;
        }
        shown.push(c);
    }
    if columns > 0 {
        shown.push('…');
    }
    shown
}

/// The text in rows of at most so many columns, broken between words; later rows begin as deep as the first.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let room = columns.max(of_text(&indent) + 4);
    let mut rows = vec![indent.clone()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word = word;
        loop {
            let row = rows.last().map_or("", String::as_str);
            let is_new = row == indent;
            let space = usize::from(!is_new);
            let taken = of_text(row) + space;
            if taken + of_text(word) <= room {
                break;
            }
            if is_new {
                // Longer than a row: it is broken where the row ends.
                let mut wide = taken;
                let fits = word.char_indices().find(|(_, c)| {
                    wide += of(*c);
                    wide > room
                });
                let at = fits.map_or(word.len(), |(at, _)| at);
                if at == 0 {
                    break;
                }
                if let Some(row) = rows.last_mut() {
                    row.push_str(&word[..at]);
                }
                word = &word[at..];
            }
            rows.push(indent.clone());
        }
        if let Some(row) = rows.last_mut() {
            if *row != indent {
                row.push(' ');
            }
            row.push_str(word);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_broken_between_words_and_begin_as_deep_as_the_first() {
        let cases: [(&str, usize, &[&str]); 5] = [
            ("short", 20, &["short"]),
            ("a few words more", 10, &["a few", "words more"]),
            ("  two deep and long", 10, &["  two deep", "  and long"]),
            ("abcdefghijklmno p", 6, &["abcdef", "ghijkl", "mno p"]),
            ("", 10, &[""]),
        ];
        for (text, columns, rows) in cases {
            assert_eq!(wrap(text, columns), rows, "{text}");
        }
    }

    #[test]
    fn what_is_cut_fits_and_says_that_it_was_cut() {
        let cases = [
            ("short", 10, "short"),
            ("exactly ten", 11, "exactly ten"),
            ("a little longer", 8, "a littl…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 4, "漢…"),
            ("any", 1, "…"),
            ("any", 0, ""),
        ];
        for (text, columns, shown) in cases {
            assert_eq!(cut(text, columns), shown, "{text} {columns}");
            assert!(of_text(&cut(text, columns)) <= columns);
        }
    }
}
