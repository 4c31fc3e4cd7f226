//! A line that shows what runs: no control, invisible or look-alike characters, and not too long to look at.

use super::Why;

/// No person reads more in a question.
pub(super) const LONGEST: usize = 10_000;

/// Looks at the characters alone.
pub(super) fn looked_at(command: &str) -> Result<(), Why> {
    if command.trim().is_empty() {
        return Err(Why::Empty);
    }
    if command.len() > LONGEST {
        let count = command.chars().count();
        if count > LONGEST {
            return Err(Why::TooLong(count));
        }
    }
    if command.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Ok(());
    }
    match command.chars().find(|c| !shows_itself(*c)) {
        Some(odd) => Err(Why::Character(format!("the character U+{:04X}", u32::from(odd)))),
        None => alike(command),
    }
}

/// A letter, digit or sign that people see, and see as itself.
fn shows_itself(c: char) -> bool {
    if matches!(c, '\n' | '\t' | ' '..='~') {
        return true;
    }
    let hidden = c.is_control() || c.is_whitespace();
    // Fillers, joiners, marks of direction, variation selectors, tags, full-width forms of ASCII, private use.
    let deceives = matches!(
        c,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{600}'..='\u{605}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2024}'..='\u{2025}'
        | '\u{2028}'..='\u{202f}'
        | '\u{2044}'
        | '\u{205f}'..='\u{206f}'
        | '\u{2212}'
        | '\u{2215}'..='\u{2216}'
        | '\u{2223}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{fe50}'..='\u{fe6f}'
        | '\u{feff}'
        | '\u{ff01}'..='\u{ff65}'
        | '\u{ffa0}'
        | '\u{ffe0}'..='\u{ffff}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{1d400}'..='\u{1d7ff}'
        | '\u{e0000}'..='\u{10ffff}'
    );
    // Marks that sit on the letter before them.
    let combines = matches!(
        c,
        '\u{300}'..='\u{36f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
    );
    !(hidden || deceives || combines)
}

/// Words of ASCII letters with a Cyrillic, Greek, Armenian or Cherokee one between them, and signs that pass for
/// dashes, quotes or operators outside quotes.
fn alike(command: &str) -> Result<(), Why> {
    let foreign = |c: char| matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{530}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}');
    for word in command.split(|c: char| !c.is_alphanumeric()) {
        if word.chars().any(foreign) && word.chars().any(|c| c.is_ascii_alphabetic()) {
            return Err(Why::Lookalike(word.to_owned()));
        }
    }
    for word in command.split_whitespace() {
        let sign = |c: char| !c.is_ascii() && !c.is_alphanumeric();
        if word.chars().next().is_some_and(sign) {
            return Err(Why::Lookalike(word.to_owned()));
        }
    }
    Ok(())
}
