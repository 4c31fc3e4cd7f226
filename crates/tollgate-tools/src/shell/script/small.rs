//! What the words of single programs must fulfil beyond their list of options.

use super::test;
use crate::shell::{
    Why,
    options::Parsed,
    table,
    word::{Value, Word},
};

/// No words are files.
pub(in crate::shell) fn nothing(_: &Parsed<'_>) -> Vec<Word> {
    Vec::new()
}

/// `@file` stands for the options in that file.
pub(in crate::shell) fn no_response_file(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let response = parsed.operands.iter().any(|word| word.shown().starts_with('@'));
    if response { Err(Why::operand(name, "`@` names a file with more options")) } else { Ok(()) }
}

/// With `-e` the words are the input, without it a file is.
pub(in crate::shell) fn shuffled(parsed: &Parsed<'_>) -> Vec<Word> {
    if parsed.has("-e") || parsed.has("--echo") { Vec::new() } else { owned(&parsed.operands) }
}

/// The files after the filter; none where words are arguments.
pub(in crate::shell) fn jq_paths(parsed: &Parsed<'_>) -> Vec<Word> {
    let from_file = parsed.has("-f") || parsed.has("--from-file");
    // With `--args` the words after it are none; those before it are, and which are which is not looked at.
    owned(parsed.operands.get(usize::from(!from_file)..).unwrap_or_default())
}

/// The files after the expression, and after `eval` where that is written out.
pub(in crate::shell) fn yq_paths(parsed: &Parsed<'_>) -> Vec<Word> {
    owned(&parsed.operands[1.min(parsed.operands.len())..]).split_off(usize::from(evaluates(parsed)))
}

/// An expression that is written out and starts nothing.
pub(in crate::shell) fn yq(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let at = usize::from(evaluates(parsed));
    let odd = |why: &str| Err(Why::operand(name, why));
    match parsed.operands.get(at).map(|word| word.text()) {
        Some(Some(text)) if ["system", "load", "split", "exec"].iter().any(|word| text.contains(word)) => {
            odd("the expression reaches other files or programs")
        }
        Some(Some("shell-completion" | "completion" | "eval-all" | "ea" | "e" | "eval")) => {
            odd("it is not a plain expression")
        }
        Some(Some(_)) => Ok(()),
        _ => odd("the expression is only known when it runs"),
    }
}

fn evaluates(parsed: &Parsed<'_>) -> bool {
    parsed.operands.len() > 1 && parsed.operands[0].text().is_some_and(|text| matches!(text, "e" | "eval"))
}

/// `tee` without files, or with `/dev/null` alone.
pub(in crate::shell) fn only_null(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let null = parsed.operands.iter().all(|word| word.text() == Some("/dev/null"));
    if null { Ok(()) } else { Err(Why::operand(name, "it writes a file")) }
}

/// Packing programs: to the standard output, listing or testing; without files they pass their input on.
pub(in crate::shell) fn to_stdout(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let has = |options: &[&str]| options.iter().any(|option| parsed.has(option));
    let looks = has(&["-l", "-t", "--list", "--test"]);
    // Of two wishes the last one counts, to some of them.
    let works = has(&["-d", "-z", "--decompress", "--uncompress", "--compress"]);
    let prints = has(&["-c", "--stdout", "--to-stdout"]) || looks && !works;
    if prints || parsed.operands.is_empty() {
        Ok(())
    } else {
        Err(Why::operand(name, "it puts another file in the place of this one"))
    }
}

/// `+format` alone: another word sets the clock.
pub(in crate::shell) fn date(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let format = |word: &&Word| word.text().is_some_and(|text| text.starts_with('+'));
    if parsed.operands.iter().all(format) { Ok(()) } else { Err(Why::operand(name, "it sets the clock")) }
}

/// `ps aux`: letters and numbers.
pub(in crate::shell) fn ps(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let plain = |word: &&Word| {
        word.text().is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b",_=%:".contains(&byte))
        })
    };
    if parsed.operands.iter().all(plain) { Ok(()) } else { Err(Why::operand(name, "a word is not known")) }
}

/// Databases that are files.
pub(in crate::shell) fn getent(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let database = parsed.operands.first().and_then(|word| word.text());
    match database {
        Some("passwd" | "group" | "services" | "protocols" | "shells") => Ok(()),
        _ => Err(Why::operand(name, "it may ask a server")),
    }
}

/// Names alone: `name=value` sets it.
pub(in crate::shell) fn sysctl(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let plain = |word: &&Word| word.text().is_some_and(|text| !text.contains('='));
    if parsed.operands.iter().all(plain) { Ok(()) } else { Err(Why::operand(name, "it sets a value")) }
}

/// Questions about the terminal.
pub(in crate::shell) fn tput(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    match parsed.operands.first().and_then(|word| word.text()) {
        Some("cols" | "lines" | "colors" | "longname") => Ok(()),
        _ => Err(Why::operand(name, "it changes the terminal")),
    }
}

/// No word is an address.
pub(in crate::shell) fn no_url(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let address = parsed.operands.iter().any(|word| word.shown().contains("://"));
    if address { Err(Why::operand(name, "it talks to a server")) } else { Ok(()) }
}

/// `dd` without an output file.
pub(in crate::shell) fn dd(name: &str, words: &[Word]) -> Result<Vec<Word>, Why> {
    let mut paths = Vec::new();
    for word in words {
        let text = word.text().ok_or_else(|| word.dynamic())?;
        let (key, value) = text.split_once('=').ok_or_else(|| Why::option(name, text))?;
        match key {
            "if" => paths.push(Word::fixed(value)),
            "bs" | "ibs" | "obs" | "cbs" | "count" | "skip" | "iseek" | "status" | "iflag" | "conv" => {}
            _ => return Err(Why::option(name, text)),
        }
    }
    Ok(paths)
}

/// `printf format words`: `-v` and `%n` give variables a value.
pub(in crate::shell) fn printf(name: &str, words: &[Word]) -> Result<Vec<Word>, Why> {
    let words = match words.first().and_then(Word::text) {
        Some("--") => &words[1..],
        _ => words,
    };
    let Some(first) = words.first() else { return Ok(Vec::new()) };
    let format = first.text().ok_or_else(|| first.dynamic())?;
    if format.starts_with('-') {
        return Err(Why::option(name, format));
    }
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let conversion =
            after.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'*.$hlLqjzt".contains(c));
        if conversion.starts_with('n') {
            return Err(Why::operand(name, "`%n` gives a variable a value"));
        }
        rest = after.strip_prefix('%').unwrap_or(after);
    }
    Ok(Vec::new())
}

/// `test`.
pub(in crate::shell) fn tested(name: &str, words: &[Word]) -> Result<Vec<Word>, Why> {
    test::judge(name, words)?;
    Ok(test::paths(words).into_iter().map(Word::fixed).collect())
}

/// `read name …`: names that steer nothing.
pub(in crate::shell) fn read(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    if parsed.operands.is_empty() {
        return Err(Why::operand(name, "it needs a name"));
    }
    parsed
        .operands
        .iter()
        .try_for_each(|word| table::may_be_given(word.text().ok_or_else(|| word.dynamic())?))
}

/// `set -e`, `set -o pipefail`.
pub(in crate::shell) fn set(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let known = |value: Option<&str>| matches!(value, Some("pipefail" | "errexit" | "nounset" | "noglob"));
    let given =
        parsed.every_value().next().is_some() || ["-e", "-u", "-f"].iter().any(|option| parsed.has(option));
    if given && parsed.values("-o").all(known) {
        Ok(())
    } else {
        Err(Why::operand(name, "it changes the shell"))
    }
}

/// Options of the shell about file names.
pub(in crate::shell) fn shopt(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let known = |word: &&Word| matches!(word.text(), Some("nullglob" | "globstar" | "failglob"));
    if parsed.operands.iter().all(known) { Ok(()) } else { Err(Why::operand(name, "it changes the shell")) }
}

/// A number, if anything.
pub(in crate::shell) fn number(name: &str, parsed: &Parsed<'_>) -> Result<(), Why> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |word: &&Word| word.text().is_some_and(digits) || word.source == "$?";
    if parsed.operands.iter().all(plain) { Ok(()) } else { Err(Why::operand(name, "it takes a number")) }
}

fn owned(words: &[&Word]) -> Vec<Word> {
    words.iter().map(|word| (*word).clone()).filter(|word| word.value != Value::Stream).collect()
}
