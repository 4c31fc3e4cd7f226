//! Keywords in words, for descriptions.

use serde_json::{Map, Value};

use crate::json::shorten;

/// How much of a value is quoted in a description.
const QUOTED: usize = 200;

/// What a keyword asks for, in words.
pub(super) fn words(keyword: &str, value: &Value) -> String {
    let quoted = shorten(&value.to_string(), QUOTED);
    match (keyword, value) {
        ("format" | "pattern", Value::String(text)) => format!("{keyword} {}", shorten(text, QUOTED)),
        ("examples", Value::Array(examples)) => {
            let examples: Vec<_> = examples.iter().map(ToString::to_string).collect();
            format!("for example {}", shorten(&examples.join(", "), QUOTED))
        }
        ("minLength", _) => format!("at least {value} characters"),
        ("maxLength", _) => format!("at most {value} characters"),
        ("minItems", _) => format!("at least {value} items"),
        ("maxItems", _) => format!("at most {value} items"),
        ("exclusiveMinimum", _) => format!("more than {value}"),
        ("exclusiveMaximum", _) => format!("less than {value}"),
        ("multipleOf", _) => format!("a multiple of {value}"),
        ("not", _) => format!("must not fit {quoted}"),
        ("enum", _) => format!("one of {quoted}"),
        ("const", _) => format!("exactly {quoted}"),
        ("allOf", _) => format!("must fit all of {quoted}"),
        _ => format!("{keyword} {quoted}"),
    }
}

/// Adds a remark to a schema's description.
pub(super) fn remark(schema: &mut Map<String, Value>, remark: &str) {
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => format!("{} ({remark})", text.trim_end()),
        _ => format!("({remark})"),
    };
    schema.insert("description".to_owned(), Value::String(description));
}

/// What tells one of several forms of an object from the others.
pub(super) fn form(branch: &Value) -> String {
    let Value::Object(branch) = branch else { return branch.to_string() };
    if let Some(title) = branch.get("title").and_then(Value::as_str) {
        return shorten(title, QUOTED);
    }
    let properties = branch.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = branch
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fixed = |name: &str| {
        let schema = properties?.get(name)?;
        schema.get("const").or_else(|| match schema.get("enum")?.as_array()?.as_slice() {
            [one] => Some(one),
            _ => None,
        })
    };
    let named: Vec<String> = required
        .iter()
        .map(|name| match fixed(name) {
            Some(value) => format!("{name} = {}", shorten(&value.to_string(), 40)),
            None => (*name).to_owned(),
        })
        .collect();
    match (named.is_empty(), properties) {
        (false, _) => format!("with {}", named.join(", ")),
        (true, Some(properties)) if !properties.is_empty() => {
            let all: Vec<&str> = properties.keys().map(String::as_str).collect();
            shorten(&format!("with any of {}", all.join(", ")), QUOTED)
        }
        _ => shorten(&Value::Object(branch.clone()).to_string(), QUOTED),
    }
}
