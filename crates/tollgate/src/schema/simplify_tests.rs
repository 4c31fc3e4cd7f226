use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{dialect::Dialect, modern::modern, simplify::simplify};

fn simplified(schema: &Value) -> Value {
    let mut schema = schema.clone();
    simplify(&mut schema);
    schema
}

#[test]
fn all_of_disappears_where_both_sides_can_be_said_at_once() {
    let cases = [
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"properties": {"b": true}, "required": ["a"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": true}, "required": ["a"]}),
        ),
        (
            json!({"minimum": 1, "allOf": [{"minimum": 2, "maximum": 5}, {"maximum": 4}]}),
            json!({"minimum": 2, "maximum": 4}),
        ),
        (json!({"type": ["number", "null"], "allOf": [{"type": "integer"}]}), json!({"type": "integer"})),
        (
            json!({"properties": {"a": {"minimum": 1}}, "allOf": [{"properties": {"a": {"maximum": 2}}}]}),
            json!({"properties": {"a": {"minimum": 1, "maximum": 2}}}),
        ),
        (
            json!({"anyOf": [{"type": "string"}], "description": "Outer.", "oneOf": [{"minLength": 1, "description": "Inner."}]}),
            json!({"description": "Outer.", "type": "string", "minLength": 1}),
        ),
        // A closed side forbids what only the other one names.
        (
            json!({"additionalProperties": false, "properties": {"a": true}, "allOf": [{"properties": {"a": {"const": 1}, "b": true}}]}),
            json!({"additionalProperties": false, "properties": {"a": {"allOf": [true, {"const": 1}]}}}),
        ),
        (
            json!({"allOf": [{"properties": {"a": true}}, {"properties": {"b": true}}], "unevaluatedProperties": false}),
            json!({"properties": {"a": true, "b": true}, "additionalProperties": false}),
        ),
        (json!({"allOf": [{"allOf": [{"minLength": 1}]}, true, {}]}), json!({"minLength": 1})),
    ];
    for (schema, expected) in cases {
        let expected = simplified(&expected);
        assert_eq!(simplified(&schema), expected, "{schema}");
    }
}

#[test]
fn all_of_stays_where_one_schema_cannot_say_it() {
    let cases = [
        json!({"pattern": "a", "allOf": [{"pattern": "b"}]}),
        json!({"type": "string", "allOf": [{"type": "null"}]}),
        json!({"anyOf": [{"minimum": 1}, {"maximum": 0}], "allOf": [{"anyOf": [{"const": 1}, {"const": 2}]}]}),
        json!({"properties": {"a": true}, "allOf": [{"additionalProperties": {"type": "string"}}]}),
        json!({"if": {"minimum": 1}, "allOf": [{"then": {"maximum": 3}}]}),
        json!({"properties": {"a": true}, "allOf": [{"unevaluatedProperties": false, "anyOf": [true, true]}]}),
        json!({"allOf": [false]}),
    ];
    for schema in cases {
        assert_eq!(simplified(&schema), schema);
    }
}

#[test]
fn older_drafts_are_said_in_new_words() {
    use Dialect::{Draft4, Draft6, Draft7, Draft2019};
    let cases = [
        (
            Draft4,
            json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": false, "const": 1}),
            json!({"exclusiveMinimum": 1, "maximum": 3}),
        ),
        (
            Draft6,
            json!({"if": true, "then": false, "items": [true], "additionalItems": false}),
            json!({"prefixItems": [true], "items": false}),
        ),
        (
            Draft7,
            json!({"items": {"items": []}, "additionalItems": false, "unevaluatedProperties": false}),
            json!({"items": {}}),
        ),
        (
            Draft7,
            json!({"$schema": "x", "dependencies": {"a": ["b"], "c": {"items": [true]}}}),
            json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"prefixItems": [true]}}}),
        ),
        (
            Draft2019,
            json!({"minContains": 2, "contains": true, "prefixItems": [false]}),
            json!({"minContains": 2, "contains": true}),
        ),
    ];
    for (dialect, old, expected) in cases {
        assert_eq!(modern(old.clone(), dialect), expected, "{old}");
    }
}

/// Schemas in which the same few keywords meet again and again.
fn schema() -> impl Strategy<Value = Value> {
    let kinds = select(vec![
        json!("string"),
        json!("integer"),
        json!("number"),
        json!(["object", "null"]),
        json!("array"),
    ]);
    let assertion = prop_oneof![
        kinds.prop_map(|kinds| ("type".to_owned(), kinds)),
        (select(vec!["minimum", "maximum", "minLength", "maxItems", "minProperties"]), 0..3)
            .prop_map(|(keyword, limit)| (keyword.to_owned(), json!(limit))),
        select(vec![json!([0, "a"]), json!(["a", null]), json!([1, 1.5])])
            .prop_map(|values| ("enum".to_owned(), values)),
        select(vec!["a", "b"]).prop_map(|name| ("required".to_owned(), json!([name]))),
        any::<bool>().prop_map(|open| ("additionalProperties".to_owned(), json!(open))),
        any::<bool>().prop_map(|unique| ("uniqueItems".to_owned(), json!(unique))),
    ];
    let object = |keywords: Vec<(String, Value)>| Value::Object(keywords.into_iter().collect());
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::Bool),
        5 => prop::collection::vec(assertion.clone(), 1..4).prop_map(object),
    ];
    leaf.prop_recursive(4, 24, 3, move |inner| {
        let single = select(vec![
            "not",
            "items",
            "contains",
            "additionalProperties",
            "unevaluatedProperties",
            "unevaluatedItems",
            "if",
            "then",
            "propertyNames",
        ]);
        let list = select(vec!["allOf", "allOf", "allOf", "anyOf", "oneOf", "prefixItems"]);
        let keyword = prop_oneof![
            2 => assertion.clone(),
            2 => (single, inner.clone()).prop_map(|(keyword, schema)| (keyword.to_owned(), schema)),
            4 => (list, prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(keyword, schemas)| (keyword.to_owned(), Value::Array(schemas))),
            3 => (inner.clone(), inner.clone())
                .prop_map(|(a, b)| ("properties".to_owned(), json!({"a": a, "b": b}))),
            1 => inner.prop_map(|a| ("patternProperties".to_owned(), json!({"^a": a}))),
        ];
        prop::collection::vec(keyword, 1..5).prop_map(object)
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!(null),
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(2),
        json!(""),
        json!("a"),
        json!("ab"),
    ]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(select(vec!["a", "ab", "b"]), inner, 0..4).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_simplified_schema_accepts_what_it_accepted_before(schema in schema(), values in prop::collection::vec(value(), 24)) {
        let after = simplified(&schema);
        let build = |schema: &Value| {
            jsonschema::validator_for(schema).map_err(|error| TestCaseError::reject(error.to_string()))
        };
        let (before_validator, after_validator) = (build(&schema)?, build(&after)?);
        for value in &values {
            prop_assert_eq!(before_validator.is_valid(value), after_validator.is_valid(value), "{}\n{}\n{}", schema, after, value);
        }
    }

    #[test]
    fn a_schema_in_new_words_accepts_what_it_accepted_in_old_ones(
        schema in schema(),
        values in prop::collection::vec(value(), 24),
        draft in select(vec![("http://json-schema.org/draft-06/schema#", Dialect::Draft6), ("http://json-schema.org/draft-07/schema#", Dialect::Draft7)]),
    ) {
        let mut old = schema;
        if let Value::Object(map) = &mut old {
            map.insert("$schema".into(), json!(draft.0));
            let listed = map.shift_remove("prefixItems");
            map.extend(listed.map(|list| ("items".to_owned(), list)));
        }
        let new = modern(old.clone(), draft.1);
        let build = |schema: &Value| {
            jsonschema::validator_for(schema).map_err(|error| TestCaseError::reject(error.to_string()))
        };
        let (before, after) = (build(&old)?, build(&new)?);
        for value in &values {
            prop_assert_eq!(before.is_valid(value), after.is_valid(value), "{}\n{}\n{}", old, new, value);
        }
    }
}
