//! What in a file is most like a text that is not in it, so that a missed edit can be put right at once.

use std::fmt::Write as _;

use similar::TextDiff;

/// The most lines of a file that are looked at, and the most that are shown.
const LOOKED_AT: usize = 20_000;
const SHOWN: usize = 30;
const LONGEST_LINE: usize = 300;
/// A line less like the wanted one than this is not the one that was meant.
const LIKE_ENOUGH: f32 = 0.6;

/// The nearest lines with their numbers, and what the difference seems to be; `None` where nothing is like it.
pub(crate) fn to(file: &[u8], wanted: &str) -> Option<String> {
    let file = String::from_utf8_lossy(file);
    let lines: Vec<&str> = file.lines().take(LOOKED_AT).collect();
    let wanted: Vec<&str> = wanted.lines().collect();
    let (at, exact) = best_window(&lines, &wanted).or_else(|| best_line(&lines, &wanted))?;
    let end = (at + wanted.len()).min(lines.len());
    let mut text = String::new();
    if exact {
        text.push_str("The same but for white space:\n");
    }
    for (number, line) in lines[at..end].iter().enumerate().take(SHOWN) {
        let line = line.char_indices().nth(LONGEST_LINE).map_or(*line, |(end, _)| &line[..end]);
        let _ = writeln!(text, "{:>6}\t{line}", at + number + 1);
    }
    if end - at > SHOWN {
        let _ = writeln!(text, "[and {} lines more]", end - at - SHOWN);
    }
    Some(text)
}

/// The window that shares most lines with the text, white space aside, and whether it shares all.
fn best_window(lines: &[&str], wanted: &[&str]) -> Option<(usize, bool)> {
    let plain = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (lines, wanted): (Vec<_>, Vec<_>) =
        (lines.iter().map(plain).collect(), wanted.iter().map(plain).collect());
    let score = |at: usize| {
        let pairs = lines[at..].iter().zip(&wanted);
        pairs.filter(|(line, wanted)| line == wanted && !line.is_empty()).count()
    };
    let full = wanted.iter().filter(|line| !line.is_empty()).count();
    let (best, at) =
        (0..lines.len()).map(|at| (score(at), at)).max_by_key(|(score, at)| (*score, usize::MAX - at))?;
    (best > 0 && full > 0).then_some((at, best == full && at + wanted.len() <= lines.len()))
}

/// The line most like the first one of the text that says something.
fn best_line(lines: &[&str], wanted: &[&str]) -> Option<(usize, bool)> {
    let (before, first) = wanted.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
    let first = first.trim();
    let like = |line: &str| {
        let line = line.trim();
        if line.is_empty() || line.len() > 4 * first.len() + 40 {
            return 0.0;
        }
        if line.contains(first) || first.contains(line) && line.len() * 2 > first.len() {
            return 1.0;
        }
        TextDiff::from_chars(line, first).ratio()
    };
    let scored = lines.iter().take(2_000).enumerate().map(|(at, line)| (at, like(line)));
    let (at, score) = scored.max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
    (score >= LIKE_ENOUGH).then_some((at.saturating_sub(before), false))
}
