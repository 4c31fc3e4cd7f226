//! Where in a text something stands, for people: line and column from 1.

use std::{ops::Range, path::Path};

use super::BadConfig;

/// The text of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
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
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
    }
}
