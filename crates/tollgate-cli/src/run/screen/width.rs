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

#[cfg(test)]
mod tests {
    use super::*;

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
