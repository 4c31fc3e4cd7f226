//! A range of lines of a file, of any size, without loading what is not asked for.

use std::{
    fs::File,
    io::{self, Read as _},
};

use tollgate::outcome::Evidence;

use super::encoding::{Encoding, Look, look};
use crate::blocking::Stop;

/// Which lines: `count` from the one numbered `from`, counted from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) count: u64,
}

/// What came of reading.
#[derive(Debug)]
pub(crate) enum Ranged {
    Lines(Lines),
    Binary {
        looks_like: Option<&'static str>,
        bytes: u64,
    },
    /// UTF-16 is only read whole.
    TooWide {
        bytes: u64,
    },
}

/// Lines of a file.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The lines, each with its line break.
    pub(crate) text: String,
    /// The number of the first one.
    pub(crate) from: u64,
    /// How many they are.
    pub(crate) count: u64,
    /// How many the file has; `None` where it was not read to its end.
    pub(crate) total: Option<u64>,
    /// True where the text was cut inside the range.
    pub(crate) cut: bool,
    pub(crate) encoding: Encoding,
    /// The hash of the whole file, where it was read whole.
    pub(crate) hash: Option<String>,
    pub(crate) bytes: u64,
}

/// Up to this size a file is read whole, so that its hash is known.
pub(crate) const WHOLE: u64 = 8 << 20;
/// Never more text than this at once.
const MOST_TEXT: usize = 4 << 20;
const CHUNK: usize = 256 << 10;

/// Reads the lines of a window.
pub(crate) fn read(file: &mut File, bytes: u64, window: Window, stop: &Stop) -> io::Result<Ranged> {
    if bytes > WHOLE {
        return scan(file, bytes, window, stop);
    }
    let mut whole = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default() + 1);
    file.take(WHOLE).read_to_end(&mut whole)?;
    let bytes = whole.len() as u64;
    let encoding = match look(&whole) {
        Look::Text(encoding) => encoding,
        Look::Binary(looks_like) => return Ok(Ranged::Binary { looks_like, bytes }),
    };
    let hash = Some(Evidence::of(&whole).as_str().to_owned());
    let (text, encoding) = encoding.text(&whole);
    let total = line_count(text.as_bytes());
    let start = after_lines(text.as_bytes(), window.from.saturating_sub(1));
    let range = &text[start..];
    let end = after_lines(range.as_bytes(), window.count);
    let (range, cut) = shortened(&range[..end]);
    let count = line_count(range.as_bytes());
    let lines = Lines {
        text: range.to_owned(),
        from: window.from,
        count,
        total: Some(total),
        cut,
        encoding,
        hash,
        bytes,
    };
    Ok(Ranged::Lines(lines))
}

/// Reads over the lines before the window and stops after it.
fn scan(file: &mut File, bytes: u64, window: Window, stop: &Stop) -> io::Result<Ranged> {
    let mut chunk = vec![0; CHUNK];
    let mut found: Vec<u8> = Vec::new();
    let (mut skip, mut left) = (window.from.saturating_sub(1), window.count);
    let (mut encoding, mut ended, mut passed) = (None, false, 0);
    let mut last = b'\n';
    while left > 0 && found.len() < MOST_TEXT {
        if stop.is_set() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let read = file.read(&mut chunk)?;
        if read == 0 {
            ended = true;
            break;
        }
        let mut part = &chunk[..read];
        last = chunk[read - 1];
        if encoding.is_none() {
            match look(part) {
                Look::Text(wide) if wide.is_wide() => return Ok(Ranged::TooWide { bytes }),
                Look::Text(text) => encoding = Some(text),
                Look::Binary(looks_like) => return Ok(Ranged::Binary { looks_like, bytes }),
            }
        }
        if skip > 0 {
            let here = memchr::memchr_iter(b'\n', part).count() as u64;
            if here < skip {
                skip -= here;
                passed += here;
                continue;
            }
            passed += skip;
            part = &part[after_lines(part, skip)..];
            skip = 0;
        }
        let end = after_lines(part, left);
        left -= memchr::memchr_iter(b'\n', &part[..end]).count() as u64;
        found.extend_from_slice(&part[..end]);
    }
    let (text, encoding) = encoding.unwrap_or(Encoding::Utf8).text(&found);
    let (text, cut) = shortened(&text);
    let count = line_count(text.as_bytes());
    // A last line without a line break that was passed over is a line too.
    let open = u64::from(skip > 0 && last != b'\n');
    let total = ended.then_some(passed + open + count);
    let text = text.to_owned();
    Ok(Ranged::Lines(Lines { text, from: window.from, count, total, cut, encoding, hash: None, bytes }))
}

/// How many bytes the first `lines` lines are.
fn after_lines(bytes: &[u8], lines: u64) -> usize {
    if lines == 0 {
        return 0;
    }
    let last = usize::try_from(lines - 1).unwrap_or(usize::MAX);
    memchr::memchr_iter(b'\n', bytes).nth(last).map_or(bytes.len(), |at| at + 1)
}

/// Lines, the last one also without a line break.
pub(crate) fn line_count(bytes: &[u8]) -> u64 {
    let breaks = memchr::memchr_iter(b'\n', bytes).count() as u64;
    breaks + u64::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

fn shortened(text: &str) -> (&str, bool) {
    if text.len() <= MOST_TEXT {
        return (text, false);
    }
    let end = (0..=MOST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    (&text[..end], true)
}
