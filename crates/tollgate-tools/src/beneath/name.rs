//! The text of a path holds nothing that a reader, a terminal or the kernel would take for something else.

use std::{ffi::OsStr, fmt::Write as _, os::unix::ffi::OsStrExt as _};

/// The longest path and the longest name in one, as the kernel has it.
const LONGEST_PATH: usize = 4095;
const LONGEST_NAME: usize = 255;

/// Why a text is no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// Longer than any path can be.
    #[error("it is longer than a path can be")]
    TooLong,
    /// A line break, an escape or another control character.
    #[error("it holds a control character (U+{0:04X})")]
    Control(u32),
    /// A character that is not seen or that turns the order of others.
    #[error("it holds an invisible or direction-changing character (U+{0:04X})")]
    Invisible(u32),
    /// Up and out of a folder that does not exist.
    #[error("`..` follows a folder that does not exist")]
    UpFromNowhere,
}

/// Checks the text of a path.
pub(super) fn check(text: &str) -> Result<(), BadPath> {
    if text.is_empty() {
        return Err(BadPath::Empty);
    }
    if text.len() > LONGEST_PATH || text.split('/').any(|name| name.len() > LONGEST_NAME) {
        return Err(BadPath::TooLong);
    }
    match text.chars().find(|c| c.is_control() || is_invisible(*c)) {
        Some(odd) if odd.is_control() => Err(BadPath::Control(odd.into())),
        Some(odd) => Err(BadPath::Invisible(odd.into())),
        None => Ok(()),
    }
}

/// True for what shows nothing or changes the order of what is shown.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A name of the disk as text: what is no UTF-8, controls or hides is written as `\xNN` or `\u{…}`.
pub fn shown(name: &OsStr) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || is_invisible(c) {
                text.extend(c.escape_unicode());
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}
