//! A section of `tollgate.toml` that cannot be used, and where.

use std::ops::Range;

use toml::Spanned;

use crate::process::is_ours;

/// Why a section of a file cannot be used. Nothing of that kind in the file is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
#[non_exhaustive]
pub struct BadSection {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

/// What is wrong, where in the text, and what would be right.
pub(crate) type Wrong = (Range<usize>, String, &'static str);

impl BadSection {
    pub(crate) fn new(text: &str, span: &Range<usize>, message: impl Into<String>, hint: &str) -> Self {
        let (line, column) = position(text, span.start);
        Self { line, column, message: message.into(), hint: hint.to_owned() }
    }

    pub(crate) fn of(text: &str, (span, message, hint): Wrong) -> Self {
        Self::new(text, &span, message, hint)
    }
}

/// Line and column of a place in the text, from 1.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Names of variables that a child process may get.
pub(crate) fn variables(given: Vec<Spanned<String>>) -> Result<Vec<String>, Wrong> {
    let one = |name: Spanned<String>| match name.get_ref().as_str() {
        text if is_ours(text.as_ref()) => Err((
            name.span(),
            format!("{text} is Tollgate's own and never passes to a child process"),
            "give it a key of its own under another name.",
        )),
        text if text.is_empty() || text.contains(['=', '\0']) => Err((
            name.span(),
            format!("{text:?} is no name of a variable"),
            "name the variable, without a value.",
        )),
        text => Ok(text.to_owned()),
    };
    given.into_iter().map(one).collect()
}
