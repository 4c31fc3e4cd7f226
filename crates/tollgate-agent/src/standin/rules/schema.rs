//! What is refused in the schema of a tool.

use serde_json::{Map, Value};

use super::{Judged, refuse, rule, word};

/// The dialects of schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Anthropic,
    OpenAi,
}

/// Judges the schema of a tool's arguments.
pub(super) fn judge(schema: &Value, dialect: Dialect, strict: bool, at: &str) -> Judged {
    let Some(root) = schema.as_object() else {
        return refuse("schema_missing", format!("{at}: field required"));
    };
    rule(word(schema, "type") == "object", "schema_root", format!("{at}.type: must be `object`"))?;
    for key in ["oneOf", "anyOf", "allOf", "enum", "not"] {
        rule(
            !root.contains_key(key),
            "schema_root_combinator",
            format!("{at}: does not support {key} at the top level"),
        )?;
    }
    walk(root, dialect, strict, at, 0)
}

fn walk(schema: &Map<String, Value>, dialect: Dialect, strict: bool, at: &str, depth: usize) -> Judged {
    rule(depth < 40, "schema_depth", format!("{at}: nested too deep"))?;
    let is = |kind: &str| match schema.get("type") {
        Some(Value::String(word)) => word == kind,
        Some(Value::Array(words)) => words.iter().any(|word| word == kind),
        _ => false,
    };
    if dialect == Dialect::OpenAi {
        rule(
            !is("array") || schema.contains_key("items"),
            "schema_items",
            format!("{at}: array schema missing items"),
        )?;
        let objects = !is("object") || schema.contains_key("properties");
        rule(objects, "schema_properties", format!("{at}: object schema missing properties"))?;
    }
    if strict {
        strictly(schema, is("object"), dialect, at)?;
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        rule(
            reference.starts_with('#'),
            "schema_ref",
            format!("{at}: external references are not supported"),
        )?;
    }
    for (key, value) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let fits = (1..=64).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
        rule(
            dialect != Dialect::Anthropic || fits,
            "schema_key",
            format!("{at}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"),
        )?;
        below(value, dialect, strict, &format!("{at}.{key}"), depth)?;
    }
    for key in ["items", "additionalProperties"] {
        if let Some(value) = schema.get(key) {
            below(value, dialect, strict, &format!("{at}.{key}"), depth)?;
        }
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for value in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            below(value, dialect, strict, &format!("{at}.{key}"), depth)?;
        }
    }
    Ok(())
}

fn below(value: &Value, dialect: Dialect, strict: bool, at: &str, depth: usize) -> Judged {
    match value {
        Value::Object(schema) => walk(schema, dialect, strict, at, depth + 1),
        Value::Bool(_) => Ok(()),
        _ => refuse("schema_value", format!("{at}: is not a schema")),
    }
}

fn strictly(schema: &Map<String, Value>, object: bool, dialect: Dialect, at: &str) -> Judged {
    if object {
        rule(
            schema.get("additionalProperties") == Some(&Value::Bool(false)),
            "strict_closed",
            format!("{at}: 'additionalProperties' is required to be supplied and to be false"),
        )?;
    }
    if object && dialect == Dialect::OpenAi {
        let required: Vec<_> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let keys = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (key, _) in keys {
            rule(
                required.contains(&key.as_str()),
                "strict_required",
                format!("{at}: 'required' is required to include every key; missing '{key}'"),
            )?;
        }
    }
    let refused: &[&str] = match dialect {
        Dialect::Anthropic => &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
            "maxLength",
        ],
        Dialect::OpenAi => {
            &["allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "oneOf"]
        }
    };
    match refused.iter().find(|key| schema.contains_key(**key)) {
        Some(key) => refuse("strict_keyword", format!("{at}: '{key}' is not permitted")),
        None => Ok(()),
    }
}
