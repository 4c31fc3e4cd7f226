//! The difference between two contents, for the screen: bounded, with exact counts.

use std::{fmt::Write as _, path::Path, time::Duration};

use similar::{Algorithm, ChangeTag, TextDiff};

use crate::beneath::shown;

/// A unified diff and how many lines it adds and removes.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// More lines of a diff than this are not shown.
const MOST_LINES: usize = 200;
const LONGEST_LINE: usize = 500;
/// After this the diff gets coarse rather than slow.
const PATIENCE: Duration = Duration::from_millis(300);

pub(crate) fn unified(path: &Path, before: &[u8], after: &[u8]) -> Difference {
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_lines(before.as_ref(), after.as_ref());
    let mut found = Difference::default();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => found.added += 1,
            ChangeTag::Delete => found.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let path = shown(path.as_os_str());
    let mut unified = diff.unified_diff();
    let whole = unified.context_radius(3).header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    let mut left_out = 0;
    for (at, line) in whole.lines().enumerate() {
        if at >= MOST_LINES {
            left_out += 1;
            continue;
        }
        match line.char_indices().nth(LONGEST_LINE) {
            Some((end, _)) => {
                let _ = writeln!(found.text, "{} […]", &line[..end]);
            }
            None => {
                let _ = writeln!(found.text, "{line}");
            }
        }
    }
    if left_out > 0 {
        let _ = writeln!(found.text, "[{left_out} more lines of the diff are not shown]");
    }
    found
}
