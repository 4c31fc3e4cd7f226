use serde_json::{Value, json};

use super::{flatten, unrolled};

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";

fn flat(schema: &Value) -> Value {
    flatten(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn code(schema: &Value) -> &'static str {
    flatten(schema).expect_err("flattened what it must refuse").code()
}

#[test]
fn a_reference_is_replaced_by_what_it_refers_to() {
    let cases = [
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}), json!({"type": "string"})),
        (
            json!({"properties": {"x": {"$ref": "#/definitions/a"}}, "definitions": {"a": false}}),
            json!({"properties": {"x": false}}),
        ),
        (
            json!({"items": {"$ref": "#name"}, "$defs": {"a": {"$anchor": "name", "type": "null"}}}),
            json!({"items": {"type": "null"}}),
        ),
        (
            json!({"$id": "http://x.y/root", "not": {"$ref": "other#/a~1b/%25"},
                   "$defs": {"o": {"$id": "other", "a/b": {"%": {"const": 1}}}}}),
            json!({"not": {"const": 1}}),
        ),
        (
            json!({"$id": "urn:uuid:1", "not": {"$ref": "urn:uuid:1#/$defs/a"}, "$defs": {"a": true}}),
            json!({"not": true}),
        ),
        (
            json!({"allOf": [{"$ref": "#/allOf/1"}, {"enum": [1]}]}),
            json!({"allOf": [{"enum": [1]}, {"enum": [1]}]}),
        ),
        (
            json!({"$ref": "#/examples/0", "examples": [{"type": "string"}]}),
            json!({"type": "string", "examples": [{"type": "string"}]}),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(flat(&schema), expected, "{schema}");
    }
}

#[test]
fn what_only_looks_like_a_reference_is_left_alone() {
    let cases = [
        json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "$defs": true}}),
        json!({"patternProperties": {"$ref": true}, "dependentSchemas": {"$ref": {"required": ["a"]}}}),
        json!({"enum": [{"$ref": "#/nowhere"}], "const": {"$ref": "#"}, "default": {"$id": "a"}, "examples": [{"$ref": ""}]}),
        json!({"dependentRequired": {"$ref": ["$id"]}, "required": ["$ref"]}),
        json!(true),
        json!({}),
    ];
    for schema in cases {
        assert_eq!(flat(&schema), schema);
    }
}

#[test]
fn keywords_beside_a_reference_count_from_2019_on_and_not_before() {
    let definitions = json!({"a": {"type": "string", "description": "Of a."}});
    let beside = |dialect: &str| {
        json!({"$schema": dialect, "properties": {"x": {"$ref": "#/definitions/a", "minLength": 2}},
               "definitions": definitions})
    };
    let x = |dialect: &str| flat(&beside(dialect))["properties"]["x"].clone();
    assert_eq!(x(DRAFT_7), json!({"type": "string", "description": "Of a."}));
    assert_eq!(x(DRAFT_2019), json!({"type": "string", "description": "Of a.", "minLength": 2}));
}

#[test]
fn siblings_are_merged_only_where_they_do_not_touch_each_other() {
    let cases = [
        // Notes: the one at the use wins.
        (
            json!({"description": "here"}),
            json!({"description": "there", "unevaluatedProperties": false}),
            json!({"description": "here", "unevaluatedProperties": false}),
        ),
        (
            json!({"type": "object"}),
            json!({"type": "object"}),
            json!({"type": "object", "allOf": [{"type": "object"}]}),
        ),
        (
            json!({"additionalProperties": false}),
            json!({"properties": {"a": true}}),
            json!({"additionalProperties": false, "allOf": [{"properties": {"a": true}}]}),
        ),
        (
            json!({"properties": {"a": true}}),
            json!({"unevaluatedProperties": false}),
            json!({"properties": {"a": true}, "allOf": [{"unevaluatedProperties": false}]}),
        ),
        (
            json!({"unevaluatedProperties": false}),
            json!({"properties": {"a": true}}),
            json!({"unevaluatedProperties": false, "properties": {"a": true}}),
        ),
        (
            json!({"then": {"const": 1}}),
            json!({"if": {"const": 1}}),
            json!({"then": {"const": 1}, "allOf": [{"if": {"const": 1}}]}),
        ),
        (
            json!({"minContains": 2}),
            json!({"contains": true}),
            json!({"minContains": 2, "allOf": [{"contains": true}]}),
        ),
        (json!({"allOf": [{"minimum": 1}]}), json!(false), json!({"allOf": [false, {"minimum": 1}]})),
        (json!({"minimum": 1}), json!(true), json!({"minimum": 1})),
    ];
    for (siblings, target, expected) in cases {
        let mut schema = siblings.clone();
        schema["$ref"] = json!("#/$defs/t");
        schema["$defs"] = json!({"t": target});
        assert_eq!(flat(&schema), expected, "{schema}");
    }
}

#[test]
fn the_target_takes_the_place_of_the_reference_and_the_dialect_keeps_its_own() {
    let schema = json!({"title": "T", "$ref": "#/$defs/a", "$schema": DRAFT_2019, "minLength": 1,
                        "$defs": {"a": {"type": "string", "title": "no"}}});
    assert_eq!(
        flat(&schema).to_string(),
        format!(r#"{{"title":"T","$schema":"{DRAFT_2019}","type":"string","minLength":1}}"#)
    );
    let root = json!({"$schema": DRAFT_7, "$ref": "#/definitions/no", "definitions": {"no": false}});
    assert_eq!(flat(&root), json!({"$schema": DRAFT_7, "allOf": [false]}));
}

#[test]
fn in_draft_7_an_id_beside_a_reference_does_not_move_the_base() {
    let schema = json!({"$schema": DRAFT_7, "$id": "http://x.y/base/",
        "definitions": {
            "far": {"$id": "http://x.y/a.json", "type": "string"},
            "near": {"$id": "a.json", "type": "number"}},
        "allOf": [{"$id": "http://x.y/", "$ref": "a.json"}]});
    assert_eq!(flat(&schema)["allOf"], json!([{"type": "number"}]));
}

#[test]
fn every_refusal_has_its_code() {
    let cases = [
        ("recursive_ref", json!({"properties": {"a": {"$ref": "#"}}})),
        (
            "recursive_ref",
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"items": {"$ref": "#/$defs/a"}}}}),
        ),
        ("external_ref", json!({"$ref": "http://json-schema.org/draft-07/schema#"})),
        ("external_ref", json!({"$ref": "other.json#/a"})),
        ("unresolvable_ref", json!({"$ref": "#/$defs/none"})),
        ("unresolvable_ref", json!({"$ref": "#nobody"})),
        ("unresolvable_ref", json!({"$ref": "#/allOf/00", "allOf": [true]})),
        ("dynamic_ref", json!({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}})),
        ("dynamic_ref", json!({"$schema": DRAFT_2019, "items": {"$recursiveRef": "#"}})),
        ("unsupported", json!({"$ref": 1})),
        ("unsupported", json!({"$schema": "http://json-schema.org/draft-03/schema#"})),
        ("unsupported", json!({"items": {"$schema": DRAFT_7, "$id": "a", "type": "string"}})),
    ];
    for (expected, schema) in cases {
        assert_eq!(code(&schema), expected, "{schema}");
    }
}

#[test]
fn an_error_is_told_as_code_and_message() {
    let error = flatten(&json!({"$ref": "#/a"})).unwrap_err();
    assert_eq!(
        serde_json::to_value(&error).unwrap(),
        json!({"code": "unresolvable_ref", "message": "the reference \"#/a\" leads to nothing in the document"})
    );
}

#[test]
fn definitions_nobody_uses_are_not_judged() {
    let schema =
        json!({"type": "object", "$defs": {"loop": {"$ref": "#/$defs/loop"}, "far": {"$ref": "http://x"}}});
    assert_eq!(flat(&schema), json!({"type": "object"}));
}

#[test]
fn a_dynamic_reference_is_resolved_along_the_path_that_reaches_it() {
    let schema = json!({
        "$id": "http://x.y/strings", "$ref": "list",
        "$defs": {
            "item": {"$dynamicAnchor": "item", "type": "string"},
            "list": {"$id": "list", "type": "array", "items": {"$dynamicRef": "#item"},
                     "$defs": {"any": {"$dynamicAnchor": "item"}}}}});
    assert_eq!(flat(&schema), json!({"type": "array", "items": {"type": "string"}}));
}

#[test]
fn keywords_nobody_knows_lose_what_would_mislead() {
    let schema =
        json!({"x-order": [1, 2], "x-schemas": {"a": {"$ref": "#/$defs/b"}}, "$ref": "#/x-schemas/c/0"});
    assert_eq!(code(&schema), "unresolvable_ref");
    let schema = json!({"x-order": [1, 2], "x-schemas": {"a": {"$ref": "#"}, "c": [{"type": "null"}]}, "$ref": "#/x-schemas/c/0"});
    assert_eq!(flat(&schema), json!({"x-order": [1, 2], "type": "null"}));
}

#[test]
fn growth_without_end_stops_early() {
    let mut definitions = serde_json::Map::new();
    for level in 0..100 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({"properties": {"a": next, "b": next}}));
    }
    definitions.insert("l100".into(), json!({"type": "string"}));
    assert_eq!(code(&json!({"$ref": "#/$defs/l0", "$defs": definitions})), "too_large");

    let long = format!("#/$defs/{}", "x".repeat(100_000));
    let many: Vec<_> = (0..1000).map(|_| json!({"$ref": long})).collect();
    let schema = json!({"allOf": many, "$defs": {"x".repeat(100_000): true}});
    assert_eq!(code(&schema), "too_large");
}

#[test]
fn nesting_without_end_is_refused_and_does_not_overflow() {
    let mut deep = json!({"type": "string"});
    for _ in 0..10_000 {
        deep = Value::Object(serde_json::Map::from_iter([("items".to_owned(), deep)]));
    }
    assert_eq!(code(&deep), "too_large");
    // Dropping a value recurses too; that is not what is tested here.
    std::mem::forget(deep);

    let chain: serde_json::Map<_, _> = (0..1000)
        .map(|at| (format!("c{at}"), json!({"items": {"$ref": format!("#/$defs/c{}", at + 1)}})))
        .collect();
    assert_eq!(code(&json!({"$ref": "#/$defs/c0", "$defs": chain})), "too_large");
}

#[test]
fn any_json_has_an_answer() {
    for value in
        [json!(null), json!([]), json!([{"$ref": "#"}]), json!("x"), json!(1), json!({"properties": []})]
    {
        assert_eq!(flat(&value), value);
    }
}

#[test]
fn recursion_can_be_followed_for_a_while() {
    let schema = json!({"type": "object", "properties": {"child": {"$ref": "#"}}});
    let leaf = json!({"type": "object", "description": "Nested further in the same form."});
    let one = json!({"type": "object", "properties": {"child": leaf}});
    let flat = unrolled(&schema, 1).unwrap();
    assert_eq!(flat.schema, json!({"type": "object", "properties": {"child": one}}));
    assert_eq!(flat.cut, ["#"]);
}

#[test]
fn an_id_that_is_only_a_name_is_an_anchor_where_no_draft_is_named() {
    let schema = json!({"$ref": "#foo", "definitions": {"A": {"$id": "#foo", "type": "integer"}}});
    assert_eq!(flatten(&schema), Ok(json!({"type": "integer"})));
}
