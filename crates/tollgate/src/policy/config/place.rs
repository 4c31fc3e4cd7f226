//! Where in a text something stands, for people: line and column from 1.

use std::{ops::Range, path::Path};

use super::BadConfig;

/// The text of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
    /// Where each line begins.
    pub(super) lines: &'a [usize],
}

/// Where each line of a text begins.
pub(super) fn lines(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

impl Source<'_> {
    pub(super) fn bad(
        &self,
        span: Option<Range<usize>>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> BadConfig {
        BadConfig {
            file: self.file.to_owned(),
            place: Some(self.place(span.map_or(0, |span| span.start))),
            message: message.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn line(&self, span: Option<Range<usize>>) -> usize {
        self.place(span.map_or(0, |span| span.start)).0
    }

    fn place(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = &self.text.as_bytes()[start..offset];
        (line, String::from_utf8_lossy(before).chars().count() + 1)
    }
}
