//! The words of `test` and `[`: known tests, and no look-up of names.

use crate::shell::{
    Why,
    word::{Value, Word},
};

/// Tests of one word. `-v` and `-R` are absent: they read a name, and a subscript in it can run something.
pub(in crate::shell) const UNARY: [&str; 23] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-N", "-O", "-G", "-p", "-r", "-s",
    "-S", "-t", "-u", "-w", "-x", "-z",
];
const BINARY: [&str; 14] =
    ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

const COUNTING: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// A number, or a word that is only known when it runs: no shell computes with that here.
fn is_number(word: &Word) -> bool {
    word.text().is_none_or(|text| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// True when the test looks at a file.
pub(in crate::shell) fn of_files(operator: &str) -> bool {
    !matches!(operator, "-n" | "-z" | "-t")
}

/// Judges the words after `test`, or between `[` and `]`.
pub(in crate::shell) fn judge(program: &str, words: &[Word]) -> Result<(), Why> {
    let odd = |why: &str| Err(Why::operand(program, why));
    if words.iter().any(|word| matches!(word.value, Value::Dynamic { splits: true, .. } | Value::Glob(_))) {
        // Unquoted, one word can become an operator and its operand.
        let alone = words.len() == 2 && words[0].text().is_some_and(|text| matches!(text, "-n" | "-z"));
        return if alone && !matches!(words[1].value, Value::Glob(_)) {
            Ok(())
        } else {
            odd("a word without quotes can be a test")
        };
    }
    match words {
        [] | [_] if words.first().is_none_or(|word| word.text() != Some("!")) => Ok(()),
        [first, rest @ ..] if first.text() == Some("!") => judge(program, rest),
        [operator, _] => match operator.text() {
            Some(operator) if UNARY.contains(&operator) => Ok(()),
            Some(operator) => odd(&format!("the test `{operator}` is not known to only look")),
            None => Err(operator.dynamic()),
        },
        [left, operator, right] if operator.text().is_some_and(|text| BINARY.contains(&text)) => {
            let counts = operator.text().is_some_and(|text| COUNTING.contains(&text));
            if counts && ![left, right].into_iter().all(is_number) {
                return odd("only numbers are counted");
            }
            Ok(())
        }
        _ => joined(program, words),
    }
}

/// Tests joined by `-a` and `-o`: only where every word is known.
fn joined(program: &str, words: &[Word]) -> Result<(), Why> {
    if let Some(word) = words.iter().find(|word| word.text().is_none()) {
        return Err(word.dynamic());
    }
    let joint = |word: &Word| matches!(word.text(), Some("-a" | "-o"));
    let parts: Vec<_> = words.split(joint).collect();
    if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
        return Err(Why::operand(program, "the test is not clear"));
    }
    parts.into_iter().try_for_each(|part| judge(program, part))
}

/// The files that are looked at.
pub(in crate::shell) fn paths(words: &[Word]) -> Vec<String> {
    let mut paths = Vec::new();
    for pair in words.windows(2) {
        let operator = pair[0].text().filter(|text| UNARY.contains(text) && of_files(text));
        if let (Some(_), Some(path)) = (operator, pair[1].text()) {
            paths.push(path.to_owned());
        }
    }
    paths
}
