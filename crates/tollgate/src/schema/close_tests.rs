use serde_json::{Value, json};

use super::Compiled;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

fn accepts(schema: &Value, value: &Value) -> bool {
    Compiled::arguments(schema).unwrap().accepts(value)
}

#[test]
fn a_mistyped_field_is_refused_in_every_draft() {
    let shapes = [
        json!({"properties": {"a": {"type": "string"}}}),
        json!({"allOf": [{"properties": {"a": true}}, {"properties": {"b": true}}]}),
        json!({"properties": {"a": {"$ref": "#/definitions/text"}}, "definitions": {"text": {"type": "string"}}, "anyOf": [true, {"required": ["a"]}]}),
        json!({"properties": {"c": true}, "oneOf": [{"properties": {"a": {"const": "x"}}}, {"properties": {"a": {"const": "y"}}, "required": ["a"]}]}),
        json!({"if": {"properties": {"a": {"const": "x"}}}, "then": {"properties": {"a": true}}, "else": {"properties": {"a": true}}}),
    ];
    for draft in [DRAFT_7, "https://json-schema.org/draft/2020-12/schema"] {
        for shape in &shapes {
            let mut schema = shape.clone();
            schema["$schema"] = json!(draft);
            assert!(accepts(&schema, &json!({"a": "x"})), "{schema}");
            assert!(!accepts(&schema, &json!({"a": "x", "aa": 1})), "{schema}");
        }
    }
}

#[test]
fn objects_behind_references_of_draft_7_are_closed() {
    let schema = json!({"$schema": DRAFT_7, "properties": {"p": {"$ref": "#/definitions/p"}},
        "definitions": {"p": {"type": "object", "properties": {"x": {"type": "integer"}}}}});
    assert!(accepts(&schema, &json!({"p": {"x": 1}})));
    assert!(!accepts(&schema, &json!({"p": {"x": 1, "y": 2}})));
}

#[test]
fn formats_mean_what_they_mean_in_draft_7() {
    let schema = json!({"$schema": DRAFT_7, "properties": {
        "day": {"type": "string", "format": "date"}, "id": {"type": "string", "format": "uuid"}}, "anyOf": [true, true]});
    assert!(accepts(&schema, &json!({"day": "2026-01-31", "id": "not checked before 2019"})));
    assert!(!accepts(&schema, &json!({"day": "2026-02-31"})));
}

#[test]
fn what_cannot_be_said_in_new_words_stays_as_it_is() {
    let recursive =
        json!({"$schema": DRAFT_7, "properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}});
    assert!(accepts(&recursive, &json!({"child": {"child": {"n": 1}}})));
    assert!(!accepts(&recursive, &json!({"child": {"n": "x"}})));
    let encoded =
        json!({"$schema": DRAFT_7, "properties": {"data": {"contentEncoding": "base64"}}, "anyOf": [true]});
    assert!(!accepts(&encoded, &json!({"data": "%%%"})));
}

#[test]
fn free_maps_stay_free() {
    let schema = json!({"properties": {"map": {"type": "object"}, "open": {"properties": {"a": true}, "additionalProperties": true}}});
    assert!(accepts(&schema, &json!({"map": {"any": 1}, "open": {"b": 1}})));
}
