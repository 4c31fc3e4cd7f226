use serde_json::{Value, json};

use super::{Provider, Target, check_provider_rules};

fn broken(provider: Provider, strict: bool, schema: &Value) -> Vec<String> {
    check_provider_rules(schema, Target { provider, strict })
}

/// An object schema with one field.
fn tool(field: &Value) -> Value {
    json!({"type": "object", "properties": {"x": field}, "required": ["x"], "additionalProperties": false})
}

#[test]
fn a_plain_tool_breaks_no_rule() {
    for provider in Provider::ALL {
        for strict in [false, true] {
            assert_eq!(
                broken(provider, strict, &tool(&json!({"type": ["string", "null"]}))),
                Vec::<String>::new()
            );
        }
    }
}

#[test]
fn every_provider_wants_a_plain_object_at_the_root() {
    let cases = [
        json!(true),
        json!({}),
        json!({"type": "string", "properties": {}}),
        json!({"type": "object", "properties": {}, "anyOf": [true]}),
        json!({"type": "object", "properties": {}, "oneOf": [true]}),
        json!({"type": "object", "properties": {}, "allOf": [true]}),
        json!({"type": "object", "properties": {}, "not": true}),
        json!({"type": "object", "properties": {}, "if": true}),
        json!({"type": "object", "properties": {}, "enum": [{}]}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}}),
        json!({"type": "object", "properties": {}, "$defs": {}}),
    ];
    for schema in cases {
        for provider in Provider::ALL {
            assert!(!broken(provider, false, &schema).is_empty(), "{provider}: {schema}");
        }
    }
}

#[test]
fn providers_differ_on_keys_items_and_properties() {
    let key = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b c": {}}}}});
    assert_eq!(broken(Provider::Anthropic, false, &key).len(), 1);
    assert!(broken(Provider::OpenAiChat, false, &key).is_empty());
    for field in
        [json!({"type": "array"}), json!({"type": ["object", "null"]}), json!({"anyOf": [{"type": "array"}]})]
    {
        let schema = tool(&field);
        assert_eq!(broken(Provider::OpenAiResponses, false, &schema).len(), 1, "{field}");
        assert!(broken(Provider::Anthropic, false, &schema).is_empty());
    }
}

#[test]
fn strict_modes_know_few_words() {
    let refused_by_all = [
        json!({"type": "integer", "minimum": 1}),
        json!({"type": "integer", "multipleOf": 2}),
        json!({"type": "string", "maxLength": 2}),
        json!({"type": "string", "pattern": "a"}),
        json!({"type": "string", "format": "int32"}),
        json!({"oneOf": [{"type": "string"}]}),
        json!({"allOf": [{"type": "string"}]}),
        json!({"type": "string", "not": {"type": "null"}}),
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "properties": {}, "additionalProperties": true}),
        json!({"type": "array", "items": {"type": "null"}, "uniqueItems": true}),
        json!({"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "null"}}),
        json!({"anyOf": [{"type": "integer", "minimum": 1}]}),
        json!({"description": "No type."}),
        json!(true),
    ];
    for field in refused_by_all {
        for provider in Provider::ALL {
            assert!(!broken(provider, true, &tool(&field)).is_empty(), "{provider}: {field}");
        }
    }
    let two = tool(&json!({"type": "array", "items": {"type": "null"}, "minItems": 2}));
    assert!(!broken(Provider::Anthropic, true, &two).is_empty());
    assert!(broken(Provider::OpenAiChat, true, &two).is_empty());
    let default = tool(&json!({"type": "string", "default": "a"}));
    assert!(broken(Provider::Anthropic, true, &default).is_empty());
    assert!(!broken(Provider::OpenAiChat, true, &default).is_empty());
}

#[test]
fn one_strict_mode_requires_every_key_and_has_limits() {
    let optional =
        json!({"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": false});
    assert!(broken(Provider::Anthropic, true, &optional).is_empty());
    assert_eq!(broken(Provider::OpenAiResponses, true, &optional).len(), 1);

    let mut deep = tool(&json!({"type": "string"}));
    for _ in 0..10 {
        deep = tool(&deep);
    }
    assert!(!broken(Provider::OpenAiChat, true, &deep).is_empty());
    assert!(broken(Provider::Anthropic, true, &deep).is_empty());

    let long: Vec<String> = (0..900).map(|at| format!("{at}{}", "x".repeat(200))).collect();
    assert!(!broken(Provider::OpenAiChat, true, &tool(&json!({"enum": long}))).is_empty());
}
