//! Programs for awk: known when nothing in them can write, run or read anything but the files that are named.
//!
//! Words that could do harm must not stand anywhere in the text, quoted or not. Signs that could may stand in strings and
//! patterns, where it is certain what those are: whether `/` begins a pattern or divides depends on what stands before
//! it, and a misreading would hide what follows. Where it is not certain, they must not stand anywhere either.

use crate::shell::{Why, options::Parsed, word::Word};

/// Words that reach out of the program.
const REACHING: [&str; 12] = [
    "system",
    "getline",
    "close",
    "fflush",
    "ARGV",
    "ARGC",
    "PROCINFO",
    "/inet",
    "extension",
    "BINMODE",
    "dlload",
    "eval",
];

/// The program, and values of `-v`.
pub(in crate::shell) fn check(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let Some(program) = parsed.operands.first() else { return Err(Why::script("awk", "there is none")) };
    let program = program.text().ok_or_else(|| Why::script("awk", "it is only known when it runs"))?;
    judge(program).map_err(|why| Why::script("awk", why))?;
    let net = parsed.operands.iter().any(|word| word.text().is_some_and(|text| text.starts_with("/inet")));
    if net { Err(Why::operand(name, "`/inet` is the network")) } else { Ok(()) }
}

/// The files after the program. `name=value` among them is an assignment.
pub(in crate::shell) fn paths(parsed: &Parsed<'_>) -> Vec<Word> {
    let file = |word: &&&Word| !word.text().is_some_and(|text| text.contains('=') && !text.contains('/'));
    parsed.operands.iter().skip(1).filter(file).map(|word| (*word).clone()).collect()
}

fn judge(program: &str) -> Result<(), String> {
    if let Some(word) = REACHING.iter().find(|word| program.contains(**word)) {
        return Err(format!("`{word}` stands in it"));
    }
    if program.contains("\\\n") {
        return Err("a line is continued in it".to_owned());
    }
    let (text, certain) = match bare(program) {
        Some(bare) => (bare, true),
        None => (program.to_owned(), false),
    };
    if text.contains('@') {
        return Err("`@` stands in it".to_owned());
    }
    if text.replace("||", "").contains('|') {
        return Err("`|` stands in it".to_owned());
    }
    // Before the first print a `>` can only compare, and after the end of one as well.
    let prints = |part: &str| part.find("print").is_some_and(|at| part[at..].contains('>'));
    let writes = if certain { text.split([';', '}']).any(prints) } else { prints(&text) };
    if writes || text.contains(">>") {
        return Err("`>` stands after a print".to_owned());
    }
    Ok(())
}

/// The program with `""` for each of its strings and patterns; `None` where one of them could be something else.
fn bare(program: &str) -> Option<String> {
    let mut bare = String::new();
    let mut rest = program.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => skip(&mut rest, '"')?,
            '/' => {
                // After these something to compute with must follow, so that this divides nothing.
                let before = bare.trim_end_matches([' ', '\t']).chars().next_back();
                if !before.is_none_or(|before| "{}(,;!~&|\n".contains(before)) {
                    return None;
                }
                skip(&mut rest, '/')?;
            }
            '#' | '\\' => return None,
            other => {
                bare.push(other);
                continue;
            }
        }
        bare.push_str("\"\"");
    }
    Some(bare)
}

/// Goes to the end of a string or a pattern.
fn skip(rest: &mut std::str::Chars<'_>, end: char) -> Option<()> {
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.next()? == '\n' => return None,
            '\\' => {}
            '\n' => return None,
            // A slash in brackets ends the pattern for some and not for others.
            '[' if end == '/' => {
                let (inside, after) = rest.as_str().split_once(']')?;
                if inside.is_empty() || inside == "^" || inside.contains(['/', '[', '\\', '\n']) {
                    return None;
                }
                *rest = after.chars();
            }
            c if c == end => return Some(()),
            _ => {}
        }
    }
    None
}
