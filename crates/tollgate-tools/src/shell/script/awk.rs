//! Programs for awk: known when nothing in them can write, run or read anything but the files that are named.
//!
//! The text is not parsed: whether `/` begins a pattern or divides depends on what stands before it, and a misreading
//! would hide what follows. Words and signs that could do harm must not stand anywhere in it, quoted or not.

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
    if program.contains('@') {
        return Err("`@` stands in it".to_owned());
    }
    if program.replace("||", "").contains('|') {
        return Err("`|` stands in it".to_owned());
    }
    // Before the first print a `>` can only compare.
    let printing = program.find("print").map_or("", |at| &program[at..]);
    if printing.contains('>') || program.contains(">>") {
        return Err("`>` stands after a print".to_owned());
    }
    Ok(())
}
