//! Text with everything made visible that a terminal would obey, hide or turn around.

use unicode_general_category::{GeneralCategory, get_general_category};

/// The text with everything made visible that a terminal would obey or hide: controls, bidirectional marks,
/// zero-width and filler characters, odd spaces, and what has no meaning to anyone.
pub(crate) fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if is_hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// True for a character nobody would see as what it is. A tab and a plain space are seen well enough.
pub(crate) fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\t';
    }
    match get_general_category(c) {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::SpaceSeparator
        | GeneralCategory::PrivateUse
        | GeneralCategory::Surrogate
        | GeneralCategory::Unassigned => true,
        // Letters and marks by their category, and nothing to be seen.
        _ => matches!(
            c,
            '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}'
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_hide_is_shown_by_its_number() {
        let cases = [
            ("plain text, ümläut, 漢字 and 🦀", "plain text, ümläut, 漢字 and 🦀"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("safe\u{202e}txt.exe", "safe\\u{202e}txt.exe"),
            ("\u{2066}\u{2069}\u{061c}", "\\u{2066}\\u{2069}\\u{61c}"),
            ("a\u{200b}b\u{feff}c\u{00ad}d\u{2060}", "a\\u{200b}b\\u{feff}c\\u{ad}d\\u{2060}"),
            ("\u{e0041}\u{e0100}\u{fe0f}", "\\u{e0041}\\u{e0100}\\u{fe0f}"),
            ("a\u{a0}b\u{3000}c\u{2028}", "a\\u{a0}b\\u{3000}c\\u{2028}"),
            ("\u{3164}\u{115f}\u{2800}\u{e000}", "\\u{3164}\\u{115f}\\u{2800}\\u{e000}"),
            ("tab\tand\rreturn\0\u{7f}", "tab\tand\\u{d}return\\u{0}\\u{7f}"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown);
        }
    }
}
