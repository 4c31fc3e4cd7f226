//! What a search found: in the order of paths, no more than was asked for, everything counted.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

/// The hits of one file.
#[derive(Debug, Default)]
pub(super) struct FileHits {
    /// Lines to show, each ready as `12:text` or, for context, `12-text`.
    pub(super) lines: Vec<String>,
    /// Lines that match.
    pub(super) matches: u64,
}

/// The hits of all files that are kept, and the count of the others.
#[derive(Debug)]
pub(super) struct Hits {
    limit: usize,
    kept: BTreeMap<PathBuf, FileHits>,
    kept_size: usize,
    pub(super) files: u64,
    pub(super) matches: u64,
    pub(super) withheld: u64,
}

impl Hits {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: BTreeMap::new(), kept_size: 0, files: 0, matches: 0, withheld: 0 }
    }

    /// Counts the hits of a file, and keeps them unless those before it already fill the answer.
    pub(super) fn add(&mut self, path: &Path, hits: FileHits) {
        self.files += 1;
        self.matches += hits.matches;
        let full = self.kept_size >= self.limit;
        if full && self.kept.last_key_value().is_some_and(|(last, _)| last.as_path() < path) {
            return;
        }
        self.kept_size += hits.size();
        self.kept.insert(path.to_owned(), hits);
        while let Some(last) = self.kept.last_entry()
            && self.kept_size - last.get().size() >= self.limit
        {
            self.kept_size -= last.get().size();
            last.remove();
        }
    }

    /// The kept hits in order.
    pub(super) fn into_kept(self) -> impl Iterator<Item = (PathBuf, FileHits)> {
        self.kept.into_iter()
    }
}

impl FileHits {
    fn size(&self) -> usize {
        self.lines.len().max(1)
    }
}

/// Collects the hits of one file.
pub(super) struct Collect<'a> {
    pub(super) matcher: &'a RegexMatcher,
    pub(super) hits: FileHits,
    /// As many lines as are kept of one file.
    pub(super) room: usize,
    /// True where one hit is all that counts.
    pub(super) first_only: bool,
    pub(super) stop: &'a crate::blocking::Stop,
}

/// A longer line is shown by the part around its hit.
const LONGEST_LINE: usize = 400;
const BEFORE_HIT: usize = 100;

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            self.hits.matches += 1;
            if self.hits.lines.len() < self.room {
                let text = shortened(line, || self.matcher.find(line).ok().flatten().map(|hit| hit.start()));
                self.hits.lines.push(format!("{number}:{text}"));
            }
        }
        Ok(!self.first_only && !self.stop.is_set())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.hits.lines.len() < self.room {
            let number = context.line_number().unwrap_or_default();
            self.hits.lines.push(format!("{number}-{}", shortened(context.bytes(), || None)));
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if !self.hits.lines.is_empty() && self.hits.lines.len() < self.room {
            self.hits.lines.push("--".to_owned());
        }
        Ok(true)
    }
}

fn shortened(line: &[u8], hit: impl FnOnce() -> Option<usize>) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LONGEST_LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = hit().unwrap_or(0).saturating_sub(BEFORE_HIT).min(line.len());
    let end = (from + LONGEST_LINE).min(line.len());
    let left = if from > 0 { "[…] " } else { "" };
    let right =
        if end < line.len() { format!(" [… {} more bytes]", line.len() - end) } else { String::new() };
    format!("{left}{}{right}", String::from_utf8_lossy(&line[from..end]))
}
