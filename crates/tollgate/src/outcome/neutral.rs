//! Text from a tool, made harmless: what a terminal would obey, what hides, and what a model's own template means by
//! markup is made visible. Everything else passes byte for byte.

use std::borrow::Cow;

use serde_json::Value;

use super::{Item, Outcome, Output, Trust, exceeds};

/// Makes every text of an answer harmless. Markup is taken for what it is only where nobody vouches for the content.
pub(crate) fn neutralise(outcome: &mut Outcome, trust: Trust) {
    let clean = |text: &mut String| {
        if let Cow::Owned(changed) = visible(text) {
            *text = changed;
        }
        if trust == Trust::UntrustedContent
            && let Cow::Owned(changed) = without_markup(text)
        {
            *text = changed;
        }
    };
    match outcome {
        Outcome::Ok(output) => output.items.iter_mut().for_each(|item| match item {
            Item::Text { text } => clean(text),
            Item::Json { json } => clean_json(json, &clean),
            Item::Image { .. } => {}
        }),
        Outcome::Failed(failure) => {
            clean(&mut failure.message);
            if let Some(hint) = &mut failure.hint {
                clean(hint);
            }
        }
        // Our own words about a call, with what the call said already shortened and quoted.
        Outcome::Refused(_) => {}
    }
}

/// True when the output fits as it is and does not once it is made harmless.
pub(crate) fn grows_beyond(output: &Output, limit: usize) -> bool {
    let texts = output.items.iter().filter(|item| !matches!(item, Item::Image { .. }));
    if texts.clone().all(is_plain) {
        return false;
    }
    let mut shown = Outcome::Ok(Output { items: texts.cloned().collect(), ..Output::default() });
    neutralise(&mut shown, Trust::TrustedSystem);
    matches!(&shown, Outcome::Ok(shown) if exceeds(shown, limit))
}

fn is_plain(item: &Item) -> bool {
    fn plain(value: &Value) -> bool {
        match value {
            Value::String(text) => is_plain_text(text),
            Value::Array(items) => items.iter().all(plain),
            Value::Object(map) => map.iter().all(|(key, value)| is_plain_text(key) && plain(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }
    match item {
        Item::Text { text } => is_plain_text(text),
        Item::Json { json } => plain(json),
        Item::Image { .. } => true,
    }
}

fn is_plain_text(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

fn clean_json(value: &mut Value, clean: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_json(item, clean)),
        Value::Object(map) => {
            let odd = |key: &String| {
                let mut cleaned = key.clone();
                clean(&mut cleaned);
                cleaned != *key
            };
            if map.keys().any(odd) {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(mut key, value)| {
                        clean(&mut key);
                        (key, value)
                    })
                    .collect();
            }
            map.values_mut().for_each(|value| clean_json(value, clean));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with control characters as pictures (`␛`) and what hides or turns others written out (`\u{202e}`).
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain_text(text) {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut changed) = (String::with_capacity(text.len()), false);
    let mut before = '\n';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        if is_harmless(c, before, next) {
            shown.push(c);
        } else {
            changed = true;
            match picture(c) {
                Some(picture) => shown.push(picture),
                None => shown.extend(c.escape_unicode()),
            }
        }
        before = c;
    }
    if changed { Cow::Owned(shown) } else { Cow::Borrowed(text) }
}

/// The picture Unicode has for a control character.
fn picture(c: char) -> Option<char> {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)),
        '\x7f' => Some('\u{2421}'),
        _ => None,
    }
}

fn is_harmless(c: char, before: char, next: Option<char>) -> bool {
    match c {
        '\n' | '\t' => true,
        // A line break of another system; alone it goes back and writes over the line.
        '\r' => next == Some('\n'),
        _ if c.is_control() => false,
        // Between letters and pictures of scripts that join, these are part of the writing.
        '\u{200c}' | '\u{200d}' => joins(before) && next.is_some_and(joins),
        // One of these after a picture chooses its form; more of them hide something.
        '\u{fe00}'..='\u{fe0f}' => {
            !before.is_whitespace() && !is_selector(before) && !next.is_some_and(is_selector)
        }
        '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => false,
        _ => true,
    }
}

fn joins(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !matches!(c, '\u{200b}'..='\u{200f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Tags that models' templates and harnesses give a meaning to, open or closed.
const TAGS: [&str; 24] = [
    "function_calls",
    "function_call",
    "function_results",
    "function_result",
    "invoke",
    "tool_call",
    "tool_calls",
    "tool_use",
    "tool_result",
    "tool_results",
    "tool_response",
    "tool_output",
    "system",
    "system-reminder",
    "system_prompt",
    "start_of_turn",
    "end_of_turn",
    "bos",
    "eos",
    "think",
    "untrusted",
    "untrusted_data",
    "untrusted_content",
    "untrusted-content",
];
/// Tags that only mean something where they close: data is often wrapped in them.
const CLOSED: [&str; 3] = ["data", "document", "documents"];
const BRACKETED: [&str; 6] =
    ["INST", "/INST", "TOOL_CALLS", "TOOL_RESULTS", "/TOOL_RESULTS", "AVAILABLE_TOOLS"];

/// The text with the brackets of such markup exchanged for ones that only look alike: `‹|im_start|>`.
fn without_markup(text: &str) -> Cow<'_, str> {
    let (mut changed, mut copied) = (String::new(), 0);
    for (at, c) in text.char_indices().filter(|(_, c)| matches!(c, '<' | '[')) {
        let rest = &text[at + 1..];
        let other = match c {
            '<' if is_token(rest) || is_tag(rest) => '‹',
            '[' if is_bracketed(rest) => '⟦',
            _ => continue,
        };
        changed.push_str(&text[copied..at]);
        changed.push(other);
        copied = at + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    changed.push_str(&text[copied..]);
    Cow::Owned(changed)
}

/// The longest token of a template.
const LONGEST_TOKEN: usize = 64;

/// `|im_start|>`, also with the wide bars some templates have; `<SYS>>`.
fn is_token(rest: &str) -> bool {
    if rest.starts_with("<SYS>>") || rest.starts_with("</SYS>>") {
        return true;
    }
    let Some(inner) = rest.strip_prefix(['|', '｜']) else { return false };
    let end = inner.char_indices().take(LONGEST_TOKEN).find(|(_, c)| matches!(c, '|' | '｜' | '\n' | '<'));
    let Some((end, bar)) = end.filter(|(end, _)| *end > 0) else { return false };
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | ':' | '▁');
    matches!(bar, '|' | '｜')
        && inner[..end].chars().all(word)
        && inner[end + bar.len_utf8()..].starts_with('>')
}

fn is_tag(rest: &str) -> bool {
    let (closes, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':')))
        .unwrap_or(rest.len());
    let ends = rest[end..].starts_with(['>', ' ', '\t', '\n', '/']);
    let name = rest[..end].rsplit(':').next().unwrap_or_default().to_ascii_lowercase();
    ends && (TAGS.contains(&&*name) || (closes && CLOSED.contains(&&*name)))
}

fn is_bracketed(rest: &str) -> bool {
    rest.split_once(']').is_some_and(|(word, _)| BRACKETED.contains(&word))
}

#[cfg(test)]
#[path = "neutral_tests.rs"]
mod tests;
