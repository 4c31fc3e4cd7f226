//! A unified diff applied to a text: each hunk exactly, at its line or where its lines really are.

use super::change::Breaks;

/// Why a diff cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadPatch {
    #[error("the diff has no hunk; each begins with a line like `@@ -3,4 +3,5 @@`")]
    Empty,
    #[error("line {0} of the diff begins with none of ` `, `+`, `-`, `@@`, `\\`")]
    Line(usize),
    #[error("the diff speaks of more than one file")]
    Files,
    #[error("hunk {number} does not fit: its lines are not in the file as it is")]
    NoFit { number: usize, wanted: String },
    #[error("hunk {number} says no line numbers and fits in {places} places")]
    Ambiguous { number: usize, places: usize },
}

#[derive(Debug, Default)]
struct Hunk<'a> {
    /// Where it says it begins, counted from 0.
    at: Option<usize>,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// What it says of the line break at the end of the file, before and after.
    old_open: bool,
    new_open: bool,
    last: char,
}

/// The text after the diff.
pub(crate) fn apply(text: &str, diff: &str, breaks: Breaks) -> Result<String, BadPatch> {
    let hunks = parse(diff)?;
    let ends_open = !text.is_empty() && !text.ends_with('\n');
    let mut lines: Vec<&str> = text.lines().collect();
    let mut open = ends_open;
    let (mut shift, mut from): (isize, usize) = (0, 0);
    for (number, hunk) in hunks.iter().enumerate() {
        let at = place(&lines, hunk, shift, from, number + 1)?;
        let reaches_end = at + hunk.old.len() == lines.len();
        lines.splice(at..at + hunk.old.len(), hunk.new.iter().copied());
        if reaches_end {
            open = hunk.new_open || (open && !hunk.old_open && hunk.new.last() == hunk.old.last());
        }
        shift += hunk.new.len().cast_signed() - hunk.old.len().cast_signed();
        from = at + hunk.new.len();
    }
    let mut after = lines.join("\n");
    if !lines.is_empty() && !open {
        after.push('\n');
    }
    Ok(breaks.fit(&after))
}

/// The line a hunk goes to: the one it names, or the nearest where its old lines stand.
fn place(
    lines: &[&str],
    hunk: &Hunk<'_>,
    shift: isize,
    from: usize,
    number: usize,
) -> Result<usize, BadPatch> {
    let fits = |at: usize| lines[at..].len() >= hunk.old.len() && lines[at..].starts_with(&hunk.old);
    if hunk.old.is_empty() {
        let named = hunk.at.map(|at| at.saturating_add_signed(shift));
        return Ok(named.unwrap_or(lines.len()).clamp(from.min(lines.len()), lines.len()));
    }
    let places: Vec<usize> = (from.min(lines.len())..lines.len()).filter(|at| fits(*at)).collect();
    match (hunk.at, &places[..]) {
        (_, []) => Err(BadPatch::NoFit { number, wanted: hunk.old.join("\n") }),
        (_, [at]) => Ok(*at),
        (None, places) => Err(BadPatch::Ambiguous { number, places: places.len() }),
        (Some(named), places) => {
            let named = named.saturating_add_signed(shift);
            Ok(places.iter().copied().min_by_key(|at| at.abs_diff(named)).unwrap_or_default())
        }
    }
}

fn parse(diff: &str) -> Result<Vec<Hunk<'_>>, BadPatch> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let mut files = 0;
    let mut lines = diff.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if line.starts_with("--- ") && lines.peek().is_some_and(|(_, next)| next.starts_with("+++ ")) {
            files += 1;
            lines.next();
            continue;
        }
        if let Some(header) = line.strip_prefix("@@") {
            hunks.push(Hunk { at: named_line(header), last: ' ', ..Hunk::default() });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        match sign {
            " " => {
                hunk.old.push(rest);
                hunk.new.push(rest);
            }
            "-" => hunk.old.push(rest),
            "+" => hunk.new.push(rest),
            "\\" => {
                hunk.old_open |= hunk.last != '+';
                hunk.new_open |= hunk.last != '-';
            }
            // What other programs write between the hunks of two files.
            _ if line.starts_with("diff ") || line.starts_with("index ") => continue,
            _ => return Err(BadPatch::Line(number + 1)),
        }
        hunk.last = sign.chars().next().unwrap_or(' ');
    }
    if files > 1 {
        return Err(BadPatch::Files);
    }
    if hunks.is_empty() { Err(BadPatch::Empty) } else { Ok(hunks) }
}

/// The first line a header like ` -3,4 +3,5 @@` names, counted from 0.
fn named_line(header: &str) -> Option<usize> {
    let (_, rest) = header.split_once('-')?;
    let (line, count) = match rest.split_once([',', ' ']) {
        Some((line, rest)) => (line, rest.split(' ').next().and_then(|count| count.parse::<usize>().ok())),
        None => (rest, None),
    };
    let line: usize = line.trim().parse().ok()?;
    // A hunk that takes nothing away names the line it goes after.
    Some(if count == Some(0) { line } else { line.saturating_sub(1) })
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
