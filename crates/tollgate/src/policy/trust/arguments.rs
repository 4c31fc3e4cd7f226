//! How far trust in a tool goes: exactly this call, this folder, this argument, the tool where it only reads.

use std::path::Path;

use serde_json::Value;

use super::Reach;
use crate::{
    json::canonical,
    outcome::hex,
    policy::{Query, lexical_path},
    tool::Resource,
};

/// The longest rule that is still read by a person.
const READABLE: usize = 200;
/// How many single arguments are offered.
const ARGUMENTS: usize = 3;

pub(super) fn reaches(query: &Query<'_>) -> Vec<Reach> {
    let name = query.tool.id.to_string();
    let taken = matches!(name.as_str(), "read" | "write" | "host" | "shell" | "bash");
    let tool = if taken { format!("tool:{name}") } else { name };
    let mut found = vec![exactly(query, &tool)];
    found.extend(folders(query, &tool));
    found.extend(arguments(query, &tool));
    if query.effects.read_only && !query.effects.open_world {
        found.push(Reach { title: format!("every call of {tool}, which only reads"), rules: vec![tool] });
    }
    found
}

/// The call itself: its arguments written out, or their hash where nobody would read them.
fn exactly(query: &Query<'_>, tool: &str) -> Reach {
    let title = "exactly this call".to_owned();
    let flat = query.args.as_object().and_then(|map| {
        let clause = |(key, value): (&String, &Value)| Some(format!("{}={}", name(key)?, literal(value)?));
        map.iter().map(clause).collect::<Option<Vec<_>>>()
    });
    let rule = flat.map(|mut clauses| {
        clauses.push("only".to_owned());
        format!("{tool}({})", clauses.join(", "))
    });
    let rule = rule.filter(|rule| rule.len() <= READABLE);
    Reach { title, rules: vec![rule.unwrap_or_else(|| format!("{tool}(#{})", fingerprint(&query.args)))] }
}

/// What stands for exactly these arguments.
pub(crate) fn fingerprint(args: &Value) -> String {
    use sha2::Digest as _;
    hex(&sha2::Sha256::digest(canonical(args).as_bytes()))
}

/// The tool in the folder of the one path it was given.
fn folders(query: &Query<'_>, tool: &str) -> Option<Reach> {
    let cwd = query.scope.cwd();
    let touched = |text: &str| {
        query.effects.touches.iter().any(|resource| match resource {
            Resource::Path { path, .. } => lexical_path(cwd, path) == lexical_path(cwd, Path::new(text)),
            _ => false,
        })
    };
    let (key, text) = query.args.as_object()?.iter().find_map(|(key, value)| {
        let text = value.as_str().filter(|text| !text.is_empty() && touched(text))?;
        Some((name(key)?, text))
    })?;
    let path = lexical_path(cwd, Path::new(text))?;
    let folder = path.parent().filter(|folder| folder.parent().is_some())?;
    let shown = match folder.strip_prefix(cwd) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => format!("./{}", inside.display()),
        Err(_) => folder.display().to_string(),
    };
    let plain = shown.chars().all(|c| c.is_alphanumeric() || "_-./ @+".contains(c));
    plain.then(|| Reach {
        title: format!("{tool} in {shown}"),
        rules: vec![format!("{tool}({key} in {shown})")],
    })
}

/// The tool with one of its arguments as it is.
fn arguments(query: &Query<'_>, tool: &str) -> Vec<Reach> {
    let Some(map) = query.args.as_object() else { return Vec::new() };
    let reach = |(key, value): (&String, &Value)| {
        let text = value.as_str().filter(|text| (1..=60).contains(&text.len()))?;
        let plain = text.chars().all(|c| c.is_alphanumeric() || "_-./@:".contains(c))
            && !text.starts_with(['.', '/']);
        let key = name(key).filter(|_| plain)?;
        let title = format!("{tool} with {key} {text}");
        Some(Reach { title, rules: vec![format!("{tool}({key}={})", literal(value)?)] })
    };
    if map.len() < 2 { Vec::new() } else { map.iter().filter_map(reach).take(ARGUMENTS).collect() }
}

/// The name of an argument as a rule writes it.
fn name(key: &str) -> Option<String> {
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    (!key.is_empty() && plain(key)).then(|| key.to_owned())
}

/// A value as a rule writes exactly it.
fn literal(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let mut quoted = String::from("\"");
            for c in text.chars() {
                if c.is_control() {
                    return None;
                }
                if matches!(c, '"' | '\\') {
                    quoted.push('\\');
                }
                quoted.push(c);
            }
            quoted.push('"');
            Some(quoted)
        }
        Value::Number(_) | Value::Bool(_) => Some(format!("\"{value}\"")),
        _ => None,
    }
}
