//! The headers by which what stands between us and a stateless server sees what a request is about.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

/// `Mcp-Name` and `Mcp-Param-…` of a call.
pub(crate) fn of_call(tool: &str, schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Name".to_owned(), encoded(tool))];
    walk(schema, arguments, &mut headers);
    headers
}

/// Arguments that their schema wants to see as headers, as deep as `properties` go.
fn walk(schema: &Value, value: &Value, headers: &mut Vec<(String, String)>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let Some(value) = value.get(name) else { continue };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            let text = match value {
                Value::String(text) => Some(text.clone()),
                Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
                _ => None,
            };
            headers.extend(text.map(|text| (format!("Mcp-Param-{header}"), encoded(&text))));
        }
        walk(property, value, headers);
    }
}

/// What is wrong with the headers a schema asks for; a tool with such a schema is not to be used over HTTP.
pub(crate) fn fault(schema: &Value) -> Option<String> {
    let mut seen = Vec::new();
    if schema.get("x-mcp-header").is_some() {
        return Some("`x-mcp-header` stands at the root of its schema".to_owned());
    }
    check(schema, &mut seen)
}

fn check(schema: &Value, seen: &mut Vec<String>) -> Option<String> {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(header) = property.get("x-mcp-header") {
            let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            let Some(header) = header.as_str().filter(|text| !text.is_empty() && text.chars().all(token))
            else {
                return Some(format!("the `x-mcp-header` of `{name}` is no name of a header"));
            };
            if !matches!(property.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"))
            {
                return Some(format!("`{name}` cannot be a header: it is no text, whole number or boolean"));
            }
            let header = header.to_ascii_lowercase();
            if seen.contains(&header) {
                return Some(format!("two of its arguments want to be the header `{header}`"));
            }
            seen.push(header);
        }
        if let Some(fault) = check(property, seen) {
            return Some(fault);
        }
    }
    None
}

/// A value as a header takes it; what does not fit goes in base64.
fn encoded(value: &str) -> String {
    let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || c == '\t');
    let plain = value.chars().all(|c| (' '..='~').contains(&c));
    let marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !marked && !edge(value.chars().next()) && !edge(value.chars().last()) {
        return value.to_owned();
    }
    format!("=?base64?{}?=", BASE64_STANDARD.encode(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_become_headers_where_their_schema_says_so() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "other": {"type": "string"}}});
        let args = json!({"region": "Zürich", "deep": {"n": 5}, "other": "x"});
        let expected =
            [("Mcp-Name", "t"), ("Mcp-Param-Region", "=?base64?WsO8cmljaA==?="), ("Mcp-Param-N", "5")];
        assert_eq!(of_call("t", &schema, &args), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(fault(&schema), None);
        assert!(fault(&json!({"properties": {"a": {"type": "array", "x-mcp-header": "A"}}})).is_some());
        assert!(fault(&json!({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}})).is_some());
    }
}
