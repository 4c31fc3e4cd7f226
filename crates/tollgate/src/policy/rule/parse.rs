//! Rules from their short form: `grep`, `@server/get_*`, `read(./**)`, `shell(git status *)`, `tool(arg=glob)`.

use std::fmt;

use super::{
    ArgMatcher, CommandPattern, HostPattern, Layer, Matcher, PathPattern, Pointer, Rule, Stance, Test, Touch,
};
use crate::{policy::Pattern, tool::Access};

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRule {
    /// What is wrong.
    pub message: String,
    /// Where in the text, in characters from its start.
    pub at: usize,
    /// What would be right.
    pub hint: Option<String>,
}

impl BadRule {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), at: 0, hint: None }
    }

    fn at(mut self, at: usize) -> Self {
        self.at = at;
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadRule {}

impl Rule {
    /// Reads the short form.
    pub fn parse(stance: Stance, text: &str) -> Result<Self, BadRule> {
        let text = text.trim();
        let mut rule = Self::blank(stance, text);
        // Five names mean things that any tool touches; a tool of that name is written `tool:read`.
        let (text, named) = text.strip_prefix("tool:").map_or((text, false), |text| (text, true));
        let Some((head, rest)) = text.split_once('(') else {
            rule.tool = Some(Pattern::parse(text).map_err(|error| BadRule::new(error.to_string()))?);
            return Ok(rule);
        };
        let Some(inner) = rest.strip_suffix(')') else {
            return Err(BadRule::new("the bracket is not closed at the end of the rule")
                .at(text.chars().count())
                .hint("close it with `)`; after it nothing may stand."));
        };
        let (head, at) = (head.trim_end(), head.chars().count() + 1);
        // It would be taken for a part of what is matched, and a rule that denies would deny nothing.
        if let Some(extra) = unopened(inner) {
            let at = at + inner[..extra].chars().count();
            let hint = "leave it out; one that is meant is written `\\)`.";
            return Err(BadRule::new("there is a `)` that no `(` opens").at(at).hint(hint));
        }
        match head {
            "read" | "write" | "host" | "shell" | "bash" if !named => {
                rule.touch = Some(touch(head, inner, at)?);
            }
            _ => {
                rule.tool = Some(Pattern::parse(head).map_err(|error| BadRule::new(error.to_string()))?);
                clauses(inner, at, &mut rule)?;
            }
        }
        Ok(rule)
    }

    pub(crate) fn blank(stance: Stance, text: &str) -> Self {
        Self {
            stance,
            tool: None,
            args: Vec::new(),
            only: false,
            exactly: None,
            touch: None,
            caller: None,
            route: None,
            agent: None,
            reason: None,
            layer: Layer::Session,
            answered: false,
            text: text.into(),
            source: "code".into(),
        }
    }
}

fn touch(head: &str, inner: &str, at: usize) -> Result<Touch, BadRule> {
    let bad = |message: String| BadRule::new(message).at(at);
    if matches!(head, "read" | "write" | "host") && looks_like_a_clause(inner) {
        let hint = format!(
            "`{head}(…)` speaks of what any tool touches; for arguments of a tool called `{head}` write \
             `tool:{head}(…)`."
        );
        return Err(bad(format!("{inner:?} is a matcher over arguments")).hint(hint));
    }
    match head {
        "read" | "write" => {
            let access = if head == "read" { Access::Read } else { Access::Write };
            let pattern = PathPattern::parse(inner).map_err(bad)?;
            Ok(Touch::Path { access: Some(access), pattern })
        }
        "host" => HostPattern::parse(inner).map(Touch::Host).map_err(bad),
        _ => CommandPattern::parse(inner).map(Touch::Command).map_err(bad),
    }
}

fn looks_like_a_clause(inner: &str) -> bool {
    let name = inner.trim_start().trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    name.len() < inner.trim_start().len() && (name.starts_with('=') || name.starts_with(" in "))
}

/// The matchers between the brackets, parted by commas.
fn clauses(inner: &str, start: usize, rule: &mut Rule) -> Result<(), BadRule> {
    for (at, clause) in parted(inner) {
        let blank = clause.len() - clause.trim_start().len();
        let place = start + inner[..at + blank].chars().count();
        match clause.trim() {
            "" if inner.trim().is_empty() => {
                let hint = "leave the brackets out, or write `only` in them for calls without arguments.";
                return Err(BadRule::new("the brackets are empty").at(place).hint(hint));
            }
            "only" => rule.only = true,
            hash if hash.starts_with('#') => rule.exactly = Some(hash[1..].into()),
            clause => rule.args.push(clause_of(clause).map_err(|message| {
                let hint = "a matcher is `name=glob`, `name=1..5`, `name in ./folder`, `name in [a, b]`, \
                            `name at host` or `/json/pointer~regex`.";
                BadRule::new(message).at(place).hint(hint)
            })?),
        }
    }
    Ok(())
}

fn clause_of(clause: &str) -> Result<ArgMatcher, String> {
    let key_end =
        clause.find(['=', '~', ' ']).ok_or_else(|| format!("{clause:?} says nothing of a value"))?;
    // A pointer may hold `~0` and `~1`.
    let key_end = match clause.strip_prefix('/') {
        Some(_) => pointer_end(clause),
        None => key_end,
    };
    let (key, rest) = clause.split_at(key_end);
    let pointer = Pointer::parse(key)?;
    let rest = rest.trim_start();
    let test = if let Some(value) = rest.strip_prefix('=') {
        Test::One(value_of(value.trim())?)
    } else if let Some(regex) = rest.strip_prefix('~') {
        Test::One(Matcher::of_regex(&unquoted(regex.trim()).0)?)
    } else if let Some(within) = rest.strip_prefix("in ") {
        within_of(within.trim())?
    } else if let Some(hosts) = rest.strip_prefix("at ") {
        Test::Any(items(hosts.trim()).iter().map(|host| hosted(host)).collect::<Result<_, _>>()?)
    } else {
        return Err(format!("after {key:?} comes `=`, `~`, `in` or `at`"));
    };
    Ok(ArgMatcher { pointer, test })
}

/// Where a JSON pointer ends: at `=`, a blank, or a `~` that escapes nothing.
fn pointer_end(clause: &str) -> usize {
    let bytes = clause.as_bytes();
    let ends = |at: &usize| match bytes[*at] {
        b'=' | b' ' => true,
        b'~' => !matches!(bytes.get(at + 1), Some(b'0' | b'1')),
        _ => false,
    };
    (0..bytes.len()).find(ends).unwrap_or(bytes.len())
}

/// What stands after `=`: a range, or a glob; quoted, exactly that text.
pub(crate) fn value_of(text: &str) -> Result<Matcher, String> {
    match unquoted(text) {
        (text, true) => Ok(Matcher::Exact(text.into())),
        (text, false) if text.is_empty() => Err("a value is missing".to_owned()),
        (text, false) => match Matcher::of_range(&text) {
            Some(range) => Ok(range),
            None => Matcher::of_glob(&text),
        },
    }
}

/// What stands after `in`: a list of values, or a folder.
pub(crate) fn within_of(text: &str) -> Result<Test, String> {
    if text.starts_with('[') {
        return Ok(Test::Any(items(text).iter().map(|item| value_of(item)).collect::<Result<_, _>>()?));
    }
    folder(&unquoted(text).0).map(Test::One)
}

/// Everything below a folder.
pub(crate) fn folder(text: &str) -> Result<Matcher, String> {
    let text = text.trim_end_matches('/');
    let all = if text.ends_with("**") { text.to_owned() } else { format!("{text}/**") };
    PathPattern::parse(&all).map(Matcher::Path)
}

pub(crate) fn hosted(text: &str) -> Result<Matcher, String> {
    HostPattern::parse(text).map(Matcher::Host)
}

/// The items of `[a, b]`, or the one thing there is.
fn items(text: &str) -> Vec<String> {
    match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => parted(inner).into_iter().map(|(_, item)| item.trim().to_owned()).collect(),
        None => vec![text.to_owned()],
    }
}

/// The text without its quotes, and whether it had them.
fn unquoted(text: &str) -> (String, bool) {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return (text.to_owned(), false);
    };
    let mut plain = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next()),
            c => plain.push(c),
        }
    }
    (plain, true)
}

/// Where a `)` stands that nothing opens: not quoted, not escaped, and not one of the characters of a `[…]`.
fn unopened(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped, mut listed) = (0_u32, None, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if quote.is_some() => quote = quote.filter(|quote| *quote != c),
            '"' | '\'' if text[at + 1..].contains(c) => quote = Some(c),
            ']' => listed = false,
            _ if listed => {}
            '[' => listed = text[at..].contains(']'),
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Parted by the commas that stand in no brackets and no quotes, each part with where it begins.
fn parted(text: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut start, mut depth, mut quoted, mut escaped) = (Vec::new(), 0, 0_i32, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push((start, &text[start..]));
    parts
}
