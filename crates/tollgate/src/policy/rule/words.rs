//! Words of a command as people write them: parted by blanks, quotes keep blanks, a backslash keeps a character.

/// One word and whether any part of it was quoted, so that its `*` is only a star.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) literal: bool,
}

/// The words; `None` when a quote is not closed.
pub(crate) fn split(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let current = word.get_or_insert_with(|| Word { text: String::new(), literal: false });
        match c {
            '\'' | '"' => {
                current.literal = true;
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => current.text.push(chars.next()?),
                        inner => current.text.push(inner),
                    }
                }
            }
            '\\' => {
                current.literal = true;
                current.text.push(chars.next()?);
            }
            plain => current.text.push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

/// The word written so that it is read back as exactly itself.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut text = String::from("\"");
    for c in word.chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}
