//! The long form: `[[policy.rule]]` with conditions, a reason, and examples that are checked when it is read.

use std::{ops::Range, sync::Arc};

use toml_edit::{Item, Value};

use super::{
    BadConfig, example,
    file::{Around, of_rule, place},
    table::{Table, kind},
};
use crate::{
    policy::{
        BadRule, Rule, Stance,
        rule::{
            ArgMatcher, CommandPattern, HostPattern, Matcher, PathPattern, Pointer, Test, Touch, folder_of,
            hosted, value_of,
        },
    },
    tool::Access,
};

const KEYS: [&str; 14] = [
    "do", "always", "tool", "args", "command", "path", "access", "host", "caller", "route", "agent",
    "reason", "matches", "misses",
];

type Span = Option<Range<usize>>;

pub(super) fn read(table: Table<'_>, span: Span, around: Around<'_>) -> Result<Rule, BadConfig> {
    table.only(&KEYS)?;
    let source = table.source;
    let stance = stance(table, span.clone())?;
    let mut rule = match table.text("tool")? {
        Some((text, at)) => Rule::parse(stance, text).map_err(|bad| of_rule(source, at, text, &bad))?,
        None => Rule::blank(stance, ""),
    };
    touched(table, &mut rule, span.clone())?;
    arguments(table, &mut rule)?;
    if rule.tool.is_none() && rule.touch.is_none() {
        let hint = "give it `tool`, `command`, `path` or `host`; `tool = \"*\"` means every tool.";
        return Err(source.bad(span, "this rule does not say what it is for", hint));
    }
    let text = |key| Ok::<_, BadConfig>(table.text(key)?.map(|(text, _)| Arc::from(text)));
    rule.caller = text("caller")?;
    rule.route = text("route")?;
    rule.agent = text("agent")?;
    rule.reason = text("reason")?;
    rule.text = told(table, &rule).into();
    let rule = place(source, span, rule, around)?;
    example::check(table, &rule, around)?;
    Ok(rule)
}

fn stance(table: Table<'_>, span: Span) -> Result<Stance, BadConfig> {
    let always = table.flag("always")?;
    let Some((word, at)) = table.text("do")? else {
        let hint = "give it `do = \"deny\"`, `\"ask\"` or `\"allow\"`.";
        return Err(table.source.bad(span, "this rule does not say what to do", hint));
    };
    match (word, always.unwrap_or(false)) {
        ("deny", false) => Ok(Stance::Deny),
        ("ask", false) => Ok(Stance::Ask),
        ("ask", true) => Ok(Stance::AskAlways),
        ("allow", false) => Ok(Stance::Allow),
        ("deny" | "allow", true) => {
            Err(table.source.bad(at, "`always` is for `ask`", "leave `always` out, or `do = \"ask\"`."))
        }
        (odd, _) => {
            let message = format!("`do` is {odd:?}, which is nothing a rule can do");
            Err(table.source.bad(at, message, "`do` is \"allow\", \"ask\" or \"deny\"."))
        }
    }
}

fn touched(table: Table<'_>, rule: &mut Rule, span: Span) -> Result<(), BadConfig> {
    let source = table.source;
    let access = match table.text("access")? {
        None => None,
        Some(("read", _)) => Some(Access::Read),
        Some(("write", _)) => Some(Access::Write),
        Some((odd, at)) => {
            let message = format!("`access` is {odd:?}");
            return Err(source.bad(at, message, "`access` is \"read\" or \"write\"; left out, it is both."));
        }
    };
    let mut found = Vec::new();
    if let Some((text, at)) = table.text("command")? {
        let bad = |why: String| of_rule(source, at.clone(), text, &BadRule::new(why));
        found.push(Touch::Command(CommandPattern::parse(text).map_err(bad)?));
    }
    if let Some((text, at)) = table.text("path")? {
        let bad = |why: String| of_rule(source, at.clone(), text, &BadRule::new(why));
        found.push(Touch::Path { access, pattern: PathPattern::parse(text).map_err(bad)? });
    } else if let Some(item) = table.get("access") {
        return Err(source.bad(
            item.span(),
            "`access` is for `path`",
            "give a `path`, or leave `access` out.",
        ));
    }
    if let Some((text, at)) = table.text("host")? {
        let bad = |why: String| of_rule(source, at.clone(), text, &BadRule::new(why));
        found.push(Touch::Host(HostPattern::parse(text).map_err(bad)?));
    }
    if found.len() + usize::from(rule.touch.is_some()) > 1 {
        let hint = "one rule speaks of one thing: write a rule for each.";
        return Err(source.bad(span, "this rule speaks of more than one of command, path and host", hint));
    }
    if let Some(touch) = found.pop() {
        // `tool = "shell"` with a command means every tool that starts commands, as `shell(…)` does.
        let shell = rule
            .tool
            .as_ref()
            .and_then(|tool| tool.exact_name())
            .is_some_and(|name| matches!(name, "shell" | "bash"));
        if shell && matches!(touch, Touch::Command(_)) {
            rule.tool = None;
        }
        rule.touch = Some(touch);
    }
    Ok(())
}

fn arguments(table: Table<'_>, rule: &mut Rule) -> Result<(), BadConfig> {
    let Some(item) = table.get("args") else { return Ok(()) };
    let args = Table::of(table.source, "args", item)?;
    for (key, item) in args.table.iter() {
        let bad = |why: String| {
            let hint = "an argument is a value, a list of values, or one of {glob}, {in}, {one_of}, {min, max}, {host}, \
                        {regex}.";
            table.source.bad(item.span(), why, hint)
        };
        let pointer = Pointer::parse(key).map_err(bad)?;
        rule.args.push(ArgMatcher { pointer, test: test(args, key, item)?.map_err(bad)? });
    }
    Ok(())
}

type Tested = Result<Test, String>;

fn test(args: Table<'_>, key: &str, item: &Item) -> Result<Tested, BadConfig> {
    if let Some(list) = item.as_array() {
        return Ok(list.iter().map(plain).collect::<Result<_, _>>().map(Test::Any));
    }
    let Some(table) = item.as_table_like() else {
        let value = item.as_value().ok_or_else(|| args.wrong(key, item, "a value or a table"))?;
        return Ok(match value.as_str() {
            Some(text) => value_of(text).map(Test::One),
            None => plain(value).map(Test::One),
        });
    };
    let table = Table { source: args.source, table, name: "an argument's table" };
    table.only(&["glob", "in", "one_of", "min", "max", "host", "regex"])?;
    let wanted: Vec<_> = table.table.iter().map(|(key, _)| key).collect();
    let number = |key: &str, open: f64| match table.get(key) {
        None => Ok(open),
        Some(item) => number(item).ok_or_else(|| table.wrong(key, item, "a number")),
    };
    Ok(match &wanted[..] {
        ["glob"] => match table.text("glob")? {
            Some((text, _)) => Matcher::of_glob(text).map(Test::One),
            None => Err("a glob is missing".to_owned()),
        },
        ["in"] => match table.text("in")? {
            Some((text, _)) => folder_of(text).map(Test::One),
            None => Err("a folder is missing".to_owned()),
        },
        ["regex"] => match table.text("regex")? {
            Some((text, _)) => Matcher::of_regex(text).map(Test::One),
            None => Err("a regular expression is missing".to_owned()),
        },
        ["one_of"] => table.list("one_of")?.into_iter().map(plain).collect::<Result<_, _>>().map(Test::Any),
        ["host"] => match table.get("host").and_then(Item::as_str) {
            Some(text) => hosted(text).map(Test::One),
            None => table
                .list("host")?
                .into_iter()
                .map(|value| value.as_str().ok_or("a host is a text".to_owned()).and_then(hosted))
                .collect::<Result<_, _>>()
                .map(Test::Any),
        },
        ["min" | "max"] | ["min", "max"] | ["max", "min"] => Ok(Test::One(Matcher::Range {
            min: number("min", f64::NEG_INFINITY)?,
            max: number("max", f64::INFINITY)?,
        })),
        _ => Err("an argument is matched in one way at a time".to_owned()),
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a bound of that size is no bound a person means to the last digit"
)]
fn number(item: &Item) -> Option<f64> {
    item.as_float()
        .or_else(|| item.as_integer().map(|number| number as f64))
        .filter(|number| !number.is_nan())
}

/// A value that stands for itself.
fn plain(value: &Value) -> Result<Matcher, String> {
    match value {
        Value::String(text) if text.value().contains(['*', '?']) => Matcher::of_glob(text.value()),
        Value::String(text) => Ok(Matcher::Exact(text.value().as_str().into())),
        Value::Integer(number) => Ok(Matcher::Exact(number.value().to_string().into())),
        Value::Boolean(flag) => Ok(Matcher::Exact(flag.value().to_string().into())),
        Value::Float(number) => Ok(Matcher::Exact(number.value().to_string().into())),
        other => Err(format!("an argument cannot be {}", kind(&Item::Value(other.clone())))),
    }
}

/// The rule in the short form as far as that goes, with what it has no words for in braces.
fn told(table: Table<'_>, rule: &Rule) -> String {
    let text = |key| table.get(key).and_then(Item::as_str);
    let shell = text("command").map(|command| format!("shell({command})"));
    let path = text("path").map(|path| match text("access") {
        Some(access) => format!("{access}({path})"),
        None => format!("path({path})"),
    });
    let thing = shell.or(path).or_else(|| text("host").map(|host| format!("host({host})")));
    let mut told = match (text("tool"), thing) {
        (Some(tool), Some(thing)) if rule.tool.is_some() => format!("{tool}: {thing}"),
        (_, Some(thing)) => thing,
        (Some(tool), None) => tool.to_owned(),
        (None, None) => String::new(),
    };
    let mut more: Vec<String> = ["caller", "route", "agent"]
        .into_iter()
        .filter_map(|key| text(key).map(|value| format!("{key} = {value:?}")))
        .collect();
    if let Some(args) = table.get("args").and_then(Item::as_table_like) {
        let pairs = args.iter().map(|(key, item)| format!("{key} = {}", item.to_string().trim()));
        more.insert(0, pairs.collect::<Vec<_>>().join(", "));
    }
    if !more.is_empty() {
        told = format!("{told} {{{}}}", more.join(", "));
    }
    told
}
