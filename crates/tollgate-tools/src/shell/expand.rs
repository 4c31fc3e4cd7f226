//! Quotes, escapes, braces and expansions of a word, each read by a closed list of characters.

use super::{
    Why,
    word::{Value, Word},
};

/// Adds unquoted text with its escapes taken off; true when it holds a pattern for file names.
pub(super) fn unquoted(source: &str, text: &mut String) -> Result<bool, Why> {
    let mut glob = false;
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(escaped) => text.push(escaped),
                None => return Err(Why::Syntax("a backslash at the end".to_owned())),
            },
            // A dollar sign that nothing follows stands for itself.
            '$' if rest.peek().is_none_or(|next| matches!(next, '/' | ':' | '.' | ',')) => text.push('$'),
            ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '\'' | '"' | '`' | '$' => {
                return Err(Why::Syntax(format!("`{c}` inside `{source}`")));
            }
            _ => {
                glob |= matches!(c, '*' | '?' | '[');
                text.push(c);
            }
        }
    }
    Ok(glob)
}

/// Adds the text between double quotes, without what expands in it.
pub(super) fn double_quoted(source: &str, text: &mut String) -> Result<(), Why> {
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(escaped @ ('$' | '`' | '"' | '\\')) => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => return Err(Why::Syntax("a backslash at the end of a string".to_owned())),
            },
            '$' if rest.peek().is_none_or(|next| !expands(*next)) => text.push('$'),
            '$' | '`' | '"' => return Err(Why::Syntax(format!("`{c}` in the string \"{source}\""))),
            _ => text.push(c),
        }
    }
    Ok(())
}

/// True for what makes a dollar sign before it more than a dollar sign.
fn expands(next: char) -> bool {
    next.is_alphanumeric() || "_@*#?$!-({['\"".contains(next)
}

/// The text of `$'…'`. Only escapes that are plain are read.
pub(super) fn ansi_c(source: &str) -> Result<String, Why> {
    let odd = || Why::Grammar(format!("the quoting of `{source}`"));
    let inner = source.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\'')).ok_or_else(odd)?;
    let mut text = String::new();
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\'' {
            return Err(odd());
        }
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next().ok_or_else(odd)? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            escaped @ ('\\' | '\'' | '"' | '?') => text.push(escaped),
            'x' => {
                let mut digits = String::new();
                while digits.len() < 2 && rest.peek().is_some_and(char::is_ascii_hexdigit) {
                    digits.extend(rest.next());
                }
                let code = u8::from_str_radix(&digits, 16).ok().filter(|code| matches!(code, b' '..=b'~'));
                text.push(char::from(code.ok_or_else(odd)?));
            }
            _ => return Err(odd()),
        }
    }
    Ok(text)
}

/// The name in `$name` or `${name}`.
pub(super) fn variable(source: &str) -> Option<&str> {
    let inner = source.strip_prefix('$')?;
    let name = inner.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(inner);
    is_name(name).then_some(name)
}

/// True for the name of a variable.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// True for an expansion that only gives a value: `$x`, `$?`, `${x}`, `${#x}`, `${x:-text}`, `${x%text}`.
///
/// Absent are those that assign, run, look up a name by another, or count in a subscript.
pub(super) fn is_plain(source: &str) -> bool {
    let Some(inner) = source.strip_prefix('$') else { return false };
    let Some(inner) = inner.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return is_name(inner)
            || (inner.len() == 1 && inner.contains(|c: char| c.is_ascii_digit() || "?#$@*!-_".contains(c)));
    };
    if let Some(name) = inner.strip_prefix('#') {
        return is_name(name);
    }
    let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(end);
    if !(is_name(name) || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))) {
        return false;
    }
    let operators = [":-", ":+", "-", "+", "%%", "%", "##", "#", "^^", ",,"];
    let word = operators.iter().find_map(|operator| rest.strip_prefix(operator));
    let plain =
        |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./*?:, -".contains(&byte));
    rest.is_empty() || word.is_some_and(plain)
}

/// True for lines in which nothing expands but plain values.
pub(super) fn only_values(lines: &str) -> bool {
    let mut rest = lines;
    while let Some(at) = rest.find(['$', '`', '\\']) {
        let (sign, after) = rest[at..].split_at(1);
        let length = match after.chars().next() {
            _ if sign != "$" => return false,
            Some('{') => after.find('}').map_or(0, |close| close + 1),
            Some(next) if expands(next) => {
                after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len()).max(1)
            }
            _ => {
                rest = after;
                continue;
            }
        };
        let (expansion, behind) = rest[at..].split_at_checked(1 + length).unwrap_or_default();
        if !is_plain(expansion) {
            return false;
        }
        rest = behind;
    }
    true
}

/// True for `$((…))` of numbers alone: a name in it could hold what runs.
pub(super) fn is_sum(source: &str) -> bool {
    let inner = source.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|inner| {
        let allowed = inner.bytes().all(|byte| byte.is_ascii_digit() || b" +-*/%()<>&|^!~".contains(&byte));
        allowed && inner.bytes().any(|byte| byte.is_ascii_digit())
    })
}

/// True when braces in the unquoted word would make several words of it, or could.
pub(super) fn may_expand(source: &str) -> bool {
    source.contains('{') && (source.contains(',') || source.contains("..")) && {
        let plain = |c: char| !matches!(c, '\'' | '"' | '\\' | '$' | '`');
        // Only what stands between braces counts: `HEAD@{1}..main` is one word.
        let mut depth = 0_usize;
        let mut inside = String::new();
        let mut found = false;
        for c in source.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ if depth > 0 => inside.push(c),
                _ => {}
            }
            if c == '}' && depth == 0 {
                found |= inside.contains(',') || inside.contains("..");
                inside.clear();
            }
        }
        found || (depth > 0 && !inside.is_empty()) || !source.chars().all(plain) && inside.contains(',')
    }
}

/// No line a person reads makes more words.
const MOST_WORDS: usize = 256;

/// Every word a plain word with braces stands for; `None` when it is more than lists and ranges side by side.
pub(super) fn braces(source: &str) -> Option<Vec<String>> {
    if source.contains(['\'', '"', '\\', '$', '`']) {
        return None;
    }
    let mut words = vec![String::new()];
    let mut rest = source;
    while let Some(open) = rest.find('{') {
        let close = open + rest[open..].find('}')?;
        let inner = &rest[open + 1..close];
        if inner.contains('{') || rest[..open].contains('}') {
            return None;
        }
        let choices = choices(inner)?;
        let mut next = Vec::new();
        for word in &words {
            for choice in &choices {
                next.push(format!("{word}{}{choice}", &rest[..open]));
            }
        }
        if next.len() > MOST_WORDS {
            return None;
        }
        words = next;
        rest = &rest[close + 1..];
    }
    if rest.contains('}') {
        return None;
    }
    words.iter_mut().for_each(|word| word.push_str(rest));
    // Without quotes, an empty one is none.
    words.retain(|word| !word.is_empty());
    Some(words)
}

/// The words between braces; `None` for a range that is not understood.
fn choices(inner: &str) -> Option<Vec<String>> {
    if inner.contains(',') {
        return Some(inner.split(',').map(str::to_owned).collect());
    }
    if !inner.contains("..") {
        // Text between braces that is no list stays as it is.
        return Some(vec![format!("{{{inner}}}")]);
    }
    let (from, to) = inner.split_once("..")?;
    let (to, step) = to.split_once("..").unwrap_or((to, "1"));
    let step = step.parse::<i32>().ok().filter(|step| (1..1000).contains(step))?;
    let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(i32::from(*letter)),
        _ => None,
    };
    let (ends, letters) = match (letter(from), letter(to)) {
        // Between capitals and small ones there are signs.
        (Some(low), Some(high)) if (low < 97) == (high < 97) => ((low, high), true),
        _ if padded(from) || padded(to) => return None,
        _ => ((from.parse().ok()?, to.parse().ok()?), false),
    };
    let (from, to) = ends;
    if i32::abs_diff(from, to) >= 1000 {
        return None;
    }
    let numbers = (0..=i32::abs_diff(from, to).cast_signed()).step_by(usize::try_from(step).ok()?);
    let numbers = numbers.map(|off| if from <= to { from + off } else { from - off });
    let shown = |number: i32| match u8::try_from(number) {
        Ok(byte) if letters => char::from(byte).to_string(),
        _ => number.to_string(),
    };
    Some(numbers.map(shown).collect())
}

/// A word of plain characters.
pub(super) fn plain(text: &str, source: &str) -> Result<Word, Why> {
    let mut own = String::new();
    let glob = unquoted(text, &mut own)?;
    if own.starts_with('~') || own.starts_with('=') {
        return Err(Why::Grammar(format!("`{source}`")));
    }
    let value = if glob { Value::Glob(own) } else { Value::Static(own) };
    Ok(Word { value, source: text.to_owned() })
}
