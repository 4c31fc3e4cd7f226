//! Edits become new content: exact, in order, each on the result of the one before, or none at all.

use memchr::memmem;
use serde::Deserialize;

use super::{
    nearest,
    patch::{self, BadPatch},
};

/// One edit of a file's text.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Edit {
    /// The file must not exist.
    Create {
        text: String,
    },
    Overwrite {
        text: String,
    },
    /// On lines of its own, at the end.
    Append {
        text: String,
    },
    /// Exactly `count` times, once unless given.
    Replace {
        old: String,
        new: String,
        count: Option<usize>,
    },
    /// Before the line with this number; one past the last is the end.
    Insert {
        line: usize,
        text: String,
    },
    /// A unified diff.
    Patch {
        diff: String,
    },
}

impl Edit {
    /// True when whether it can be made tells what stands in the file.
    pub(crate) fn compares(&self) -> bool {
        matches!(self, Self::Replace { .. } | Self::Patch { .. })
    }
}

/// Why an edit cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Miss {
    #[error("the file exists already")]
    Exists,
    #[error("there is no such file to change")]
    Absent,
    #[error("the text to replace is empty")]
    EmptyOld,
    #[error("the text to replace is not in the file")]
    NotFound { nearest: Option<String> },
    #[error("the text to replace is there {found} times, on lines {lines}, and {wanted} were meant")]
    Count { found: usize, wanted: usize, lines: String },
    #[error("line {line} is past the end: the file has {lines} lines")]
    Line { line: usize, lines: usize },
    #[error("{0}")]
    Patch(#[from] BadPatch),
    #[error("the file is UTF-16, which is not edited in place")]
    Wide,
    #[error("the file is not UTF-8, and the text holds characters that Latin-1 does not have")]
    Foreign,
}

/// The content after all edits. `None` stands for a file that does not exist.
pub(crate) fn apply(before: Option<&[u8]>, edits: &[Edit]) -> Result<Vec<u8>, Miss> {
    let mut content = before.map(<[u8]>::to_vec);
    for edit in edits {
        content = Some(one(content.as_deref(), edit)?);
    }
    content.ok_or(Miss::Absent)
}

fn one(before: Option<&[u8]>, edit: &Edit) -> Result<Vec<u8>, Miss> {
    match (before, edit) {
        (Some(_), Edit::Create { .. }) => Err(Miss::Exists),
        (None, Edit::Create { text } | Edit::Overwrite { text } | Edit::Append { text }) => {
            Ok(text.clone().into_bytes())
        }
        (Some(before), Edit::Overwrite { text }) => Ok(Breaks::of(before).fit(text).into_bytes()),
        (None, Edit::Patch { diff }) => Ok(patch::apply("", diff, Breaks::Lf)?.into_bytes()),
        (None, _) => Err(Miss::Absent),
        (Some(before), edit) => {
            if before.starts_with(&[0xFF, 0xFE]) || before.starts_with(&[0xFE, 0xFF]) {
                return Err(Miss::Wide);
            }
            match edit {
                Edit::Append { text } => append(before, text),
                Edit::Replace { old, new, count } => replace(before, old, new, count.unwrap_or(1)),
                Edit::Insert { line, text } => insert(before, *line, text),
                Edit::Patch { diff } => {
                    let text = std::str::from_utf8(before).map_err(|_| Miss::Foreign)?;
                    Ok(patch::apply(text, diff, Breaks::of(before))?.into_bytes())
                }
                Edit::Create { .. } | Edit::Overwrite { .. } => Err(Miss::Exists),
            }
        }
    }
}

/// Text as the bytes it has in this file. A file that is not UTF-8 is taken for Latin-1, as it is shown.
fn encoded(before: &[u8], text: &str) -> Result<Vec<u8>, Miss> {
    if text.is_ascii() || std::str::from_utf8(before).is_ok() {
        return Ok(text.as_bytes().to_vec());
    }
    text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| Miss::Foreign)).collect()
}

/// A text as it stands in the file, from one as it was shown: pictures of control characters, characters that were
/// written out and brackets that were exchanged are what they stand for again.
fn as_it_stands(text: &str) -> String {
    let mut back = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let written_out = rest.strip_prefix("\\u{").and_then(|inner| {
            let (digits, after) = inner.split_once('}')?;
            Some((u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?, after))
        });
        if let Some((c, after)) = written_out {
            back.push(c);
            rest = after;
            continue;
        }
        back.push(match c {
            '\u{2400}'..='\u{241f}' => char::from_u32(u32::from(c) - 0x2400).unwrap_or(c),
            '\u{2421}' => '\x7f',
            '‹' => '<',
            '⟦' => '[',
            c => c,
        });
        rest = &rest[c.len_utf8()..];
    }
    back
}

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    Lf,
    CrLf,
}

impl Breaks {
    /// As most of its lines end.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let all = memchr::memchr_iter(b'\n', bytes).count();
        let with_return = memmem::find_iter(bytes, b"\r\n").count();
        if all > 0 && with_return * 2 > all { Self::CrLf } else { Self::Lf }
    }

    /// The text with the line breaks of the file. A text that has returns of its own is meant as it is.
    pub(crate) fn fit(self, text: &str) -> String {
        if self == Self::CrLf && !text.contains('\r') { text.replace('\n', "\r\n") } else { text.to_owned() }
    }

    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

/// Appended text begins a line, and the file ends with a line break if it did before.
fn append(before: &[u8], text: &str) -> Result<Vec<u8>, Miss> {
    let breaks = Breaks::of(before);
    let text = encoded(before, &breaks.fit(text))?;
    let mut after = before.to_vec();
    let ended = before.is_empty() || before.ends_with(b"\n");
    if !ended {
        after.extend_from_slice(breaks.bytes());
    }
    after.extend_from_slice(&text);
    if ended && !before.is_empty() && !text.is_empty() && !text.ends_with(b"\n") {
        after.extend_from_slice(breaks.bytes());
    }
    Ok(after)
}

fn replace(before: &[u8], old: &str, new: &str, wanted: usize) -> Result<Vec<u8>, Miss> {
    if old.is_empty() {
        return Err(Miss::EmptyOld);
    }
    let breaks = Breaks::of(before);
    // As it was written; with the file's line breaks; and as it was shown, where that is not what stands there.
    let shown = as_it_stands(old);
    let ways = [
        (old.to_owned(), false),
        (breaks.fit(old), false),
        (shown.clone(), true),
        (breaks.fit(&shown), true),
    ];
    let mut hit = None;
    for (old, was_shown) in ways {
        let Ok(old) = encoded(before, &old) else { continue };
        let found: Vec<usize> = memmem::find_iter(before, &old).collect();
        if !found.is_empty() {
            hit = Some((old.len(), was_shown, found));
            break;
        }
    }
    let Some((length, was_shown, found)) = hit else {
        return Err(Miss::NotFound { nearest: nearest::to(before, old) });
    };
    if found.len() != wanted {
        return Err(Miss::Count { found: found.len(), wanted, lines: lines_of(before, &found) });
    }
    let new = if was_shown { as_it_stands(new) } else { new.to_owned() };
    let new = encoded(before, &breaks.fit(&new))?;
    let mut after = Vec::with_capacity(before.len() + new.len() * found.len());
    let mut from = 0;
    for at in found {
        after.extend_from_slice(&before[from..at]);
        after.extend_from_slice(&new);
        from = at + length;
    }
    after.extend_from_slice(&before[from..]);
    Ok(after)
}

/// The numbers of the lines that hold these positions, the first few of them.
fn lines_of(bytes: &[u8], positions: &[usize]) -> String {
    const SHOWN: usize = 10;
    let number = |at: &usize| (memchr::memchr_iter(b'\n', &bytes[..*at]).count() + 1).to_string();
    let mut lines = positions.iter().take(SHOWN).map(number).collect::<Vec<_>>().join(", ");
    if positions.len() > SHOWN {
        lines.push_str(", …");
    }
    lines
}

fn insert(before: &[u8], line: usize, text: &str) -> Result<Vec<u8>, Miss> {
    let starts: Vec<usize> =
        std::iter::once(0).chain(memchr::memchr_iter(b'\n', before).map(|at| at + 1)).collect();
    let ends_open = !before.is_empty() && !before.ends_with(b"\n");
    let lines = if before.is_empty() { 0 } else { starts.len() - usize::from(!ends_open) };
    if line == lines + 1 || (line == 0 && lines == 0) {
        return append(before, text);
    }
    let Some(at) = line.checked_sub(1).and_then(|line| starts.get(line)).filter(|_| line <= lines) else {
        return Err(Miss::Line { line, lines });
    };
    let breaks = Breaks::of(before);
    let mut after = before[..*at].to_vec();
    let text = encoded(before, &breaks.fit(text))?;
    after.extend_from_slice(&text);
    if !text.is_empty() && !text.ends_with(b"\n") {
        after.extend_from_slice(breaks.bytes());
    }
    after.extend_from_slice(&before[*at..]);
    Ok(after)
}
