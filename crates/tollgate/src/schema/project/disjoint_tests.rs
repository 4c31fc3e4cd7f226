use serde_json::{Value, json};

use super::disjoint::disjoint;

fn apart(strict: &Value, other: &Value) -> bool {
    disjoint(strict.as_object().unwrap(), other)
}

fn closed(fields: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": fields, "required": required, "additionalProperties": false})
}

#[test]
fn what_has_no_value_in_common_is_proven_apart() {
    let cases = [
        (json!({"type": "string"}), json!({"type": ["integer", "null"]})),
        (json!({"type": "string"}), json!(false)),
        (json!({"type": "string", "const": "a"}), json!({"enum": ["b", 1]})),
        (json!({"type": "string", "enum": ["a", "b"]}), json!({"type": "string", "maxLength": 0})),
        (json!({"type": "integer"}), json!({"const": "a"})),
        (closed(&json!({"a": {"type": "string"}}), &[]), json!({"required": ["b"]})),
        (
            closed(&json!({"a": {"type": "string"}}), &["a"]),
            json!({"type": "object", "properties": {"a": {"type": "null"}}}),
        ),
        (
            closed(&json!({"a": {"type": "string"}}), &["a"]),
            json!({"type": "object", "additionalProperties": false}),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"anyOf": [{"type": "integer"}, {"type": "array"}]}),
        ),
        (json!({"type": "string"}), json!({"allOf": [{"minLength": 1}, {"type": "null"}]})),
    ];
    for (strict, other) in cases {
        assert!(apart(&strict, &other), "{strict} and {other}");
    }
}

#[test]
fn what_may_have_a_value_in_common_is_not() {
    let cases = [
        (json!({"type": "integer"}), json!({"type": "number"})),
        (json!({"type": "number"}), json!({"type": "integer"})),
        (json!({"type": "integer", "const": 1}), json!({"const": 1.0})),
        (json!({"type": "string"}), json!({})),
        (json!({"type": "string"}), json!(true)),
        (
            closed(&json!({"a": {"type": "string"}}), &[]),
            json!({"type": "object", "properties": {"a": {"type": "null"}}}),
        ),
        (closed(&json!({"a": {"type": "string"}}), &["a"]), json!({"type": "object"})),
        // A map may have any field.
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), json!({"required": ["b"]})),
        (json!({"type": "string"}), json!({"anyOf": [{"type": "null"}, {"minLength": 1}]})),
        (json!({"type": "string"}), json!({"anyOf": []})),
        // What cannot be compiled proves nothing.
        (json!({"type": "string", "const": "a"}), json!({"pattern": "("})),
    ];
    for (strict, other) in cases {
        assert!(!apart(&strict, &other), "{strict} and {other}");
    }
}
