//! What is different between two definitions, line by line, everything hidden made visible.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use tollgate::outcome::visible;

/// No diff is longer; who needs more looks at the definitions themselves.
const MOST_LINES: usize = 80;

/// The lines that differ, with `-` for what was and `+` for what is.
pub(super) fn diff(before: &Value, after: &Value) -> String {
    let text = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let (before, after) = (text(before), text(after));
    let (before, after) = (visible(&before), visible(&after));
    let diff = TextDiff::from_lines(&*before, &*after);
    let mut lines: Vec<String> = Vec::new();
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let line: String = change.value().trim_end().chars().take(400).collect();
        lines.push(format!("{sign} {line}"));
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if more > 0 {
        lines.push(format!("… and {more} lines more"));
    }
    lines.join("\n")
}
