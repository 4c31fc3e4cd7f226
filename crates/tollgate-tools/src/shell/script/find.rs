//! Words of find that are no options: folders first, then the signs of its expressions.

use crate::shell::{
    Why,
    options::Parsed,
    word::{Value, Word},
};

/// Folders and signs; whatever else stands among them is not known.
pub(in crate::shell) fn check(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let depth = parsed.operands.iter().try_fold(0_i32, |depth, word| match word.text() {
        Some("(") => Some(depth + 1),
        Some(")") => (depth > 0).then(|| depth - 1),
        _ => Some(depth),
    });
    // An operator that is left over is a mistake, and what a mistake does is not known.
    let stray = parsed.operands.iter().any(|word| matches!(word.text(), Some(";" | "{}" | "+")));
    if depth != Some(0) || stray {
        return Err(Why::operand(name, "its expression is not complete"));
    }
    Ok(())
}

/// Where the search begins.
pub(in crate::shell) fn paths(parsed: &Parsed<'_>) -> Vec<Word> {
    let sign = |word: &&&Word| !matches!(&word.value, Value::Static(text) if matches!(text.as_str(), "(" | ")" | "!" | ","));
    let folders: Vec<_> = parsed.operands.iter().filter(sign).map(|word| (*word).clone()).collect();
    if folders.is_empty() { vec![Word::fixed(".")] } else { folders }
}
