//! A result too long for the model, as head, tail and error-looking lines, with exact counts of the rest.

use std::fmt::Write as _;

use super::output::{Item, Output};

/// What is shown of a long text, and exactly what is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The text for the model.
    pub text: String,
    /// Characters of the whole.
    pub chars: usize,
    /// Lines of the whole.
    pub lines: usize,
    /// Characters that are not in the preview.
    pub omitted_chars: usize,
}

/// The share of the limit that each part of a preview may take.
const HEAD: (usize, usize) = (1, 2);
const TAIL: (usize, usize) = (1, 4);
const ERRORS: (usize, usize) = (1, 8);

/// Words that make a line worth showing wherever it stands.
const SIGNS: [&str; 9] =
    ["error", "fail", "panic", "exception", "fatal", "traceback", "denied", "not found", "undefined"];

/// A long line is shown by its first characters only.
const LONGEST_ERROR_LINE: usize = 300;

/// Shortens `whole` to about `limit` characters.
pub(crate) fn preview_of(whole: &str, limit: usize, kept: &str) -> Preview {
    let chars = whole.chars().count();
    let breaks = breaks_of(whole);
    let lines = whole.split_terminator(breaks).count();
    let head = cut_after(whole, limit * HEAD.0 / HEAD.1, breaks);
    let rest = &whole[head.len()..];
    let tail = cut_before(rest, limit * TAIL.0 / TAIL.1, breaks);
    let middle = &rest[..rest.len() - tail.len()];

    let shown = head.chars().count() + tail.chars().count();
    let omitted_chars = chars - shown;
    // A head that was cut at its break leaves that to the middle.
    let first_hidden = head.matches(breaks).count() + 1;
    let (errors, found, listed) =
        error_lines(middle.split(breaks), first_hidden, limit * ERRORS.0 / ERRORS.1);

    let mut text = String::with_capacity(limit + 400);
    let _ = writeln!(
        text,
        "[long result: {chars} characters in {lines} lines. {omitted_chars} characters are left out below. {kept}]"
    );
    text.push_str(head);
    let _ = write!(
        text,
        "\n[… {omitted_chars} characters in {} lines left out …]\n",
        middle.matches(breaks).count().max(1)
    );
    if found > 0 {
        let _ = writeln!(text, "[of those, {listed} of {found} lines that look like errors:]");
        text.push_str(&errors);
        text.push_str("[end of the error-looking lines; the last part follows]\n");
    }
    text.push_str(tail);
    Preview { text, chars, lines, omitted_chars }
}

/// True when the model would get more than `limit` characters. Pictures do not count.
pub(crate) fn exceeds(output: &Output, limit: usize) -> bool {
    // The byte length is at least the character count, and free; only a close call is counted out.
    let bytes: usize = output.items.iter().map(text_bytes).sum();
    bytes > limit && output.items.iter().map(text_chars).sum::<usize>() > limit
}

fn text_bytes(item: &Item) -> usize {
    match item {
        Item::Text { text } => text.len(),
        Item::Json { json } => json_len(json),
        Item::Image { .. } => 0,
    }
}

fn text_chars(item: &Item) -> usize {
    match item {
        Item::Text { text } => text.chars().count(),
        Item::Json { json } => json.to_string().chars().count(),
        Item::Image { .. } => 0,
    }
}

/// The length of a value as compact JSON text, without writing it.
fn json_len(value: &serde_json::Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    match value {
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) | serde_json::Value::Null => 24,
        value => {
            let mut count = Count(0);
            let _ = serde_json::to_writer(&mut count, value);
            count.0
        }
    }
}

/// What parts the lines: in JSON on one line, as a command's streams come, they are those of the texts in it.
fn breaks_of(whole: &str) -> &'static str {
    let is_json = whole.starts_with(['{', '[']) && !whole.trim_end().contains('\n');
    if is_json { "\\n" } else { "\n" }
}

/// The first `chars` characters, ended at a line break where one is near.
fn cut_after<'a>(text: &'a str, chars: usize, breaks: &str) -> &'a str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    match text[..end].rfind(breaks) {
        Some(newline) if newline > end / 2 => &text[..newline],
        _ => &text[..end],
    }
}

/// The last `chars` characters, begun after a line break where one is near.
fn cut_before<'a>(text: &'a str, chars: usize, breaks: &str) -> &'a str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    let tail = &text[start..];
    match tail.find(breaks) {
        Some(newline) if newline < tail.len() / 2 => &tail[newline + breaks.len()..],
        _ => tail,
    }
}

/// Error-looking lines with their numbers, how many there are, and how many fit.
fn error_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
    first: usize,
    room: usize,
) -> (String, usize, usize) {
    let (mut shown, mut found, mut listed) = (String::new(), 0, 0);
    for (offset, line) in lines.enumerate() {
        let line = line.trim_end_matches('\r');
        let start = cut_after_exact(line, LONGEST_ERROR_LINE);
        let lower = start.to_lowercase();
        if !SIGNS.iter().any(|sign| lower.contains(sign)) {
            continue;
        }
        found += 1;
        if shown.len() + start.len() < room {
            let more = if start.len() < line.len() { " […]" } else { "" };
            let _ = writeln!(shown, "{}: {start}{more}", first + offset);
            listed += 1;
        }
    }
    (shown, found, listed)
}

fn cut_after_exact(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}
