//! The text of a path holds nothing that a reader, a terminal or the kernel would take for something else.

use std::{borrow::Cow, ffi::OsStr, fmt::Write as _, os::unix::ffi::OsStrExt as _};

use tollgate::outcome::visible;

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
    if let Some(odd) = text.chars().find(|c| c.is_control()) {
        return Err(BadPath::Control(odd.into()));
    }
    if let Some(odd) = text.chars().find(|c| is_blank(*c)) {
        return Err(BadPath::Invisible(odd.into()));
    }
    match visible(text) {
        Cow::Borrowed(_) => Ok(()),
        Cow::Owned(shown) => {
            let odd = text.chars().zip(shown.chars()).find(|(odd, shown)| odd != shown);
            Err(BadPath::Invisible(odd.map_or(0, |(odd, _)| odd.into())))
        }
    }
}

/// Characters of writing that show nothing by themselves: in a text they have their place, in a name they hide.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
    )
}

/// A name of the disk as text: what is no UTF-8, controls or hides is written as `\xNN` or `\u{…}`.
pub fn shown(name: &OsStr) -> String {
    // Nearly all of them.
    if let Some(plain) = name.to_str().filter(|name| name.bytes().all(|byte| matches!(byte, b' '..=b'~'))) {
        return plain.to_owned();
    }
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        let mut valid = String::with_capacity(chunk.valid().len());
        for c in chunk.valid().chars() {
            if c.is_control() { valid.extend(c.escape_unicode()) } else { valid.push(c) }
        }
        text.push_str(&visible(&valid));
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}
