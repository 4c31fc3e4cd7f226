//! Examples of a rule, checked when it is read: what it must mean, and what it must not.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use toml_edit::Value;

use super::{BadConfig, file::Around, table::Table};
use crate::{
    guard::{Run, Workspace},
    policy::{
        Query, Rule,
        rule::{Located, Touch, split},
    },
    tool::{Access, Effects, Origin, Scope, ToolName, ToolSpec},
};

/// Fails on the first example that is not as it says.
pub(super) fn check(table: Table<'_>, rule: &Rule, around: Around<'_>) -> Result<(), BadConfig> {
    for (key, wanted) in [("matches", true), ("misses", false)] {
        for example in table.list(key)? {
            let told = example.to_string();
            let told = told.trim();
            let bad = |message: String, hint: &str| table.source.bad(example.span(), message, hint);
            let means = meant(rule, example, around).map_err(|why| {
                bad(
                    format!("{told} is no example for `{}`: {why}", rule.text()),
                    "write what the rule is about.",
                )
            })?;
            if means != wanted {
                let fact = if means { "means" } else { "does not mean" };
                let message = format!("the rule `{}` {fact} {told}, against what `{key}` says", rule.text());
                return Err(bad(message, "change the rule or the example, until both say the same."));
            }
        }
    }
    Ok(())
}

fn meant(rule: &Rule, example: &Value, around: Around<'_>) -> Result<bool, String> {
    let text = || example.as_str().ok_or_else(|| "it must be a text".to_owned());
    match &rule.touch {
        Some(Touch::Command(pattern)) => {
            let words = split(text()?).ok_or("a quote is not closed")?;
            let words: Vec<String> = words.into_iter().map(|word| word.text).collect();
            Ok(pattern.matches(&words, rule.reading()))
        }
        Some(Touch::Path { access, pattern }) => {
            let path = match (text()?.strip_prefix("~/"), around.home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(text()?),
            };
            let path = Located::new(working(around), &path).ok_or("it climbs above the top")?;
            Ok(pattern.matches(&path, access.unwrap_or(Access::Write), rule.reading()))
        }
        Some(Touch::Host(pattern)) => Ok(pattern.matches(text()?, rule.reading())),
        None if rule.args.is_empty() && !rule.only => Ok(rule.speaks_of(&tool(text()?)?)),
        None => {
            let args = match example.as_str() {
                Some(text) => {
                    serde_json::from_str(text).map_err(|_| "write the arguments as a table {name = …}")?
                }
                None => json(example),
            };
            let (tool, effects) = (tool("example")?, Effects::worst());
            let scope = Scope::new(Run::new("example"), Workspace::new(working(around)));
            let rule = Rule { caller: None, route: None, agent: None, ..rule.clone() };
            Ok(rule.holds(&Query::new(&tool, &args, &effects, &scope)))
        }
    }
}

/// Where the paths of examples start.
fn working(around: Around<'_>) -> &Path {
    around.folder.unwrap_or(Path::new("/working/folder"))
}

fn tool(name: &str) -> Result<ToolSpec, String> {
    let (origin, name) = match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((server, name)) => (Origin::Server(server.into()), name),
        None => (Origin::Builtin, name),
    };
    let mut spec = ToolSpec::new("example", "", Json::Null).map_err(|error| error.to_string())?;
    spec.id.origin = origin;
    spec.id.name = ToolName::new(name).map_err(|error| error.to_string())?;
    Ok(spec)
}

fn json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Integer(number) => Json::from(*number.value()),
        Value::Float(number) => Json::from(*number.value()),
        Value::Boolean(flag) => Json::from(*flag.value()),
        Value::Datetime(time) => Json::from(time.value().to_string()),
        Value::Array(items) => items.iter().map(json).collect(),
        Value::InlineTable(table) => table.iter().map(|(key, value)| (key.to_owned(), json(value))).collect(),
    }
}
