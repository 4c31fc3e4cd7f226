use serde_json::{Value, json};

use super::{Inverse, ProjectError, ProjectOptions, Projection, Provider, Target, project, project_with};

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

fn to(provider: Provider, strict: bool, schema: &Value) -> Projection {
    project(schema, Target { provider, strict }).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// The strict form of one field, which must be required for the comparison to stay simple.
fn field(provider: Provider, schema: &Value) -> Result<Value, String> {
    let tool = json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
    let projection = to(provider, true, &tool);
    if projection.strict {
        Ok(projection.schema["properties"]["x"].clone())
    } else {
        Err(projection.report.not_strict[0].keyword.clone())
    }
}

#[test]
fn a_plain_tool_passes_nearly_as_it_is() {
    let schema = json!({"$schema": DRAFT_7, "type": "object", "properties": {"path": {"type": "string", "minLength": 1}}, "required": ["path"]});
    let loose = to(Provider::Anthropic, false, &schema);
    assert_eq!(
        loose.schema,
        json!({"type": "object", "properties": {"path": {"type": "string", "minLength": 1}}, "required": ["path"]})
    );
    assert!(loose.inverse.is_identity());
    assert!(
        loose.report.rewritten.is_empty() && loose.report.moved.is_empty() && loose.report.dropped.is_empty()
    );
}

#[test]
fn openai_strict_requires_every_key_and_drops_the_null_that_costs() {
    let schema = json!({"type": "object", "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "default": 10, "description": "How many."},
        "mode": {"enum": ["a", "b"]},
        "note": {"type": ["string", "null"]},
        "range": {"type": "object", "properties": {"from": {"type": "integer"}}},
    }, "required": ["path"]});
    let strict = to(Provider::OpenAiResponses, true, &schema);
    assert!(strict.strict);
    assert_eq!(
        strict.schema,
        json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "limit": {"type": ["integer", "null"], "description": "How many. (default 10)"},
            "mode": {"type": ["string", "null"], "enum": ["a", "b", null]},
            "note": {"type": ["string", "null"]},
            "range": {"anyOf": [
                {"type": "object", "properties": {"from": {"type": ["integer", "null"]}}, "required": ["from"], "additionalProperties": false},
                {"type": "null"},
            ]},
        }, "required": ["path", "limit", "mode", "note", "range"], "additionalProperties": false})
    );
    let sent = json!({"path": "p", "limit": null, "mode": null, "note": null, "range": {"from": null}});
    assert_eq!(strict.inverse.apply(sent), json!({"path": "p", "note": null, "range": {}}));
}

#[test]
fn anthropic_strict_closes_objects_and_leaves_optional_fields_optional() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}, "additionalProperties": true}}});
    let strict = to(Provider::Anthropic, true, &schema);
    assert_eq!(
        strict.schema,
        json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}, "additionalProperties": false},
        }, "additionalProperties": false})
    );
    assert!(strict.strict && strict.inverse.is_identity());
    assert_eq!(strict.report.dropped[0].pointer, "/properties/a");
}

#[test]
fn what_strict_mode_cannot_say_is_said_in_another_way_where_that_is_smaller() {
    use Provider::{Anthropic, OpenAiChat};
    let cases = [
        (
            Anthropic,
            json!({"type": "integer", "minimum": 1, "maximum": 3}),
            json!({"type": "integer", "enum": [1, 2, 3]}),
        ),
        (
            Anthropic,
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": 2}),
            json!({"type": "integer", "enum": [1, 2]}),
        ),
        (Anthropic, json!({"const": "a", "type": "string"}), json!({"type": "string", "const": "a"})),
        (OpenAiChat, json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
        (
            Anthropic,
            json!({"type": "string", "minLength": 0, "format": "int64"}),
            json!({"type": "string", "description": "(format int64)"}),
        ),
        (Anthropic, json!({"type": "string", "format": "uri"}), json!({"type": "string", "format": "uri"})),
        (
            OpenAiChat,
            json!({"type": "string", "format": "uri", "description": "Where."}),
            json!({"type": "string", "description": "Where. (format uri)"}),
        ),
        (
            Anthropic,
            json!({"type": "array", "items": {"type": "null"}, "minItems": 1}),
            json!({"type": "array", "items": {"type": "null"}, "minItems": 1}),
        ),
        (
            OpenAiChat,
            json!({"type": "array", "items": {"type": "null"}, "maxItems": 4}),
            json!({"type": "array", "items": {"type": "null"}, "maxItems": 4}),
        ),
        (
            Anthropic,
            json!({"type": ["string", "array"]}),
            json!({"type": "string", "description": "(the tool also takes an array, which cannot be sent here)"}),
        ),
        (
            Anthropic,
            json!({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": true}], "title": "T"}),
            json!({"type": "string", "title": "T", "description": "(the tool also takes an object, which cannot be sent here)"}),
        ),
        (
            Anthropic,
            json!({"enum": ["a", {"no": 1}], "examples": ["a"]}),
            json!({"type": "string", "enum": ["a"], "description": "(for example \"a\")"}),
        ),
        (
            Anthropic,
            json!({"allOf": [{"type": "string"}, {"description": "Text."}]}),
            json!({"type": "string", "description": "Text."}),
        ),
        (
            Anthropic,
            json!({"oneOf": [{"type": "object", "properties": {"t": {"const": 1}}, "required": ["t"]}, {"type": "object", "properties": {"t": {"const": 2}}, "required": ["t"]}]}),
            json!({"anyOf": [
                {"type": "object", "properties": {"t": {"type": "integer", "const": 1}}, "required": ["t"], "additionalProperties": false},
                {"type": "object", "properties": {"t": {"type": "integer", "const": 2}}, "required": ["t"], "additionalProperties": false},
            ]}),
        ),
    ];
    for (provider, schema, expected) in cases {
        assert_eq!(field(provider, &schema), Ok(expected), "{schema}");
    }
}

#[test]
fn what_would_let_in_too_much_is_not_strict_and_says_why() {
    let cases = [
        ("minimum", json!({"type": "integer", "minimum": 1})),
        ("pattern", json!({"type": "string", "pattern": "^a"})),
        ("minLength", json!({"type": "string", "minLength": 1})),
        ("minItems", json!({"type": "array", "items": {"type": "string"}, "minItems": 2})),
        ("uniqueItems", json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})),
        ("prefixItems", json!({"type": "array", "prefixItems": [{"type": "string"}]})),
        ("additionalProperties", json!({"type": "object"})),
        ("additionalProperties", json!({"type": "object", "additionalProperties": true})),
        ("additionalProperties", json!({"type": ["object", "null"]})),
        ("", json!({})),
        ("", json!({"type": "array"})),
        ("oneOf", json!({"oneOf": [{"type": "integer"}, {"type": "number"}]})),
        ("not", json!({"type": "string", "not": {"const": "a"}})),
        ("if", json!({"type": "string", "if": {"const": "a"}, "then": false})),
        ("allOf", json!({"type": "string", "pattern": "a", "allOf": [{"pattern": "b"}]})),
        (
            "minProperties",
            json!({"type": "object", "properties": {"a": {"type": "null"}}, "minProperties": 1}),
        ),
        (
            "dependentRequired",
            json!({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "dependentRequired": {"a": ["b"]}}),
        ),
        ("required", json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["b"]})),
        (
            "anyOf",
            json!({"anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "array", "items": {"type": "null"}}]}),
        ),
    ];
    for (keyword, schema) in cases {
        assert_eq!(field(Provider::Anthropic, &schema), Err(keyword.to_owned()), "{schema}");
    }
    let checked = json!({"$schema": DRAFT_7, "type": "object", "properties": {"x": {"type": "string", "format": "date"}}});
    assert!(!to(Provider::Anthropic, true, &checked).strict);
}

#[test]
fn a_null_that_could_mean_two_things_is_not_strict() {
    let forms = json!({"anyOf": [
        {"type": "object", "properties": {"k": {"const": 1}, "v": {"type": "string"}}, "required": ["k"]},
        {"type": "object", "properties": {"k": {"const": 2}, "v": {"type": ["string", "null"]}}, "required": ["k", "v"]},
    ]});
    assert_eq!(field(Provider::OpenAiChat, &forms), Err("anyOf".to_owned()));
    assert!(field(Provider::Anthropic, &forms).is_ok());
}

#[test]
fn a_map_is_written_as_a_list_and_read_back() {
    let schema = json!({"type": "object", "properties": {
        "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "HTTP headers."},
    }});
    let strict = to(Provider::OpenAiResponses, true, &schema);
    let pair = json!({"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "string"}}, "required": ["key", "value"], "additionalProperties": false});
    assert_eq!(
        strict.schema["properties"]["headers"],
        json!({"anyOf": [{"type": "array", "items": pair}, {"type": "null"}],
               "description": "HTTP headers. (a map, written as a list of its keys and values)"})
    );
    let cases = [
        (
            json!({"headers": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}]}),
            json!({"headers": {"a": "1", "b": "2"}}),
        ),
        (json!({"headers": null}), json!({})),
        (json!({"headers": {"a": "1"}}), json!({"headers": {"a": "1"}})),
        (json!({"headers": [{"key": 1}]}), json!({"headers": [{"key": 1}]})),
    ];
    for (sent, arrived) in cases {
        assert_eq!(strict.inverse.apply(sent), arrived);
    }
}

#[test]
fn keys_anthropic_refuses_get_legal_names_and_back() {
    let long = "x".repeat(70);
    let schema = json!({"type": "object", "properties": {
        "user name": {"type": "string"},
        "user_name": {"type": "string"},
        "größe": {"type": "object", "properties": {"a/b": {"type": "string"}}, "required": ["a/b"]},
        long.clone(): {"type": "string"},
        "日本": {"type": "string"},
    }, "required": ["user name", "größe"], "dependentRequired": {"日本": ["user name"]}});
    for strict in [false, true] {
        let projection = to(Provider::Anthropic, strict, &schema);
        let names: Vec<&String> = projection.schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names[0], "user_name_7935f403");
        assert_eq!(&names[1..3], ["user_name", "gr_e"]);
        assert!(names[3].len() <= 64 && names[3].starts_with("xxx"));
        assert_eq!(names[4], "field");
        assert_eq!(projection.schema["required"], json!(["user_name_7935f403", "gr_e"]));
        assert!(names[0].starts_with("user_name_"));
        let sent = json!({"user_name_7935f403": "1", "user_name": "2", "gr_e": {"a_b": "3"}, names[3]: "4", "field": "5"});
        assert_eq!(
            projection.inverse.apply(sent),
            json!({"user name": "1", "user_name": "2", "größe": {"a/b": "3"}, long.clone(): "4", "日本": "5"})
        );
    }
    assert!(to(Provider::OpenAiChat, false, &schema).inverse.is_identity());
}

#[test]
fn alternatives_at_the_root_become_one_object_and_a_description() {
    let schema = json!({"type": "object", "description": "Moves.", "oneOf": [
        {"properties": {"to": {"const": "page"}, "page": {"type": "string"}}, "required": ["to", "page"]},
        {"properties": {"to": {"const": "trash"}}, "required": ["to"]},
    ]});
    let loose = to(Provider::OpenAiChat, false, &schema);
    assert_eq!(
        loose.schema,
        json!({"type": "object", "description": "Moves. (exactly one of these forms: with to = \"page\", page; with to = \"trash\")",
            "properties": {"to": {"anyOf": [{"const": "page"}, {"const": "trash"}]}, "page": {"type": "string"}}, "required": ["to"]})
    );
    let strict = to(Provider::OpenAiChat, true, &schema);
    assert!(!strict.strict);
    assert_eq!(strict.report.not_strict[0].keyword, "oneOf");
}

#[test]
fn other_rules_at_the_root_are_told_in_words() {
    let schema = json!({"type": ["object", "null"], "properties": {"a": true}, "not": {"required": ["z"]},
        "if": {"required": ["a"]}, "then": {"properties": {"b": {"type": "string"}}}, "allOf": [{"not": {"required": ["y"]}}]});
    let loose = to(Provider::Anthropic, false, &schema);
    assert_eq!(
        loose.schema,
        json!({"type": "object", "properties": {"a": {}, "b": {"type": "string"}},
            "description": "(must fit all of [{\"not\":{\"required\":[\"y\"]}}]) (must not fit {\"required\":[\"z\"]}) (if it fits {\"required\":[\"a\"]}, then it must fit {\"properties\":{\"b\":{\"type\":\"string\"}}})"})
    );
    assert_eq!(loose.report.moved.len(), 3);
}

#[test]
fn openai_gets_the_keywords_it_asks_for() {
    let schema =
        json!({"type": "object", "properties": {"list": {"type": "array"}, "map": {"type": "object"}}});
    let loose = to(Provider::OpenAiResponses, false, &schema);
    assert_eq!(
        loose.schema["properties"],
        json!({"list": {"type": "array", "items": {}}, "map": {"type": "object", "properties": {}}})
    );
}

#[test]
fn recursion_is_refused_or_cut_and_a_cut_is_never_strict() {
    let schema =
        json!({"type": "object", "properties": {"child": {"$ref": "#"}, "name": {"type": "string"}}});
    let target = Target { provider: Provider::Anthropic, strict: true };
    assert!(
        matches!(project(&schema, target), Err(ProjectError::Flatten(error)) if error.code() == "recursive_ref")
    );
    let cut = project_with(&schema, target, ProjectOptions::default().recursion_depth(0)).unwrap();
    assert!(!cut.strict);
    assert_eq!(
        cut.schema["properties"]["child"],
        json!({"type": "object", "description": "Nested further in the same form."})
    );
    assert_eq!(cut.report.dropped[0].keyword, "$ref");
    assert_eq!(cut.report.not_strict[0].keyword, "$ref");
}

#[test]
fn an_optional_field_is_left_out_only_where_that_was_asked_for() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}, "page": {"type": "integer", "minimum": 1}}, "required": ["q"]});
    let target = Target { provider: Provider::Anthropic, strict: true };
    assert!(!project(&schema, target).unwrap().strict);
    let narrowed = project_with(&schema, target, ProjectOptions::default().leave_out_optional()).unwrap();
    assert!(narrowed.strict);
    assert_eq!(narrowed.schema["properties"], json!({"q": {"type": "string"}}));
    assert_eq!(narrowed.report.dropped[0].pointer, "/properties/page");
}

#[test]
fn what_is_no_object_schema_is_refused() {
    let target = Target { provider: Provider::Anthropic, strict: false };
    for schema in [
        json!(true),
        json!(null),
        json!([]),
        json!("x"),
        json!(1),
        json!({"type": "string"}),
        json!({"type": []}),
    ] {
        assert!(matches!(project(&schema, target), Err(ProjectError::NotAnObject(_))), "{schema}");
    }
    let mut deep = json!([]);
    for _ in 0..10_000 {
        deep = Value::Array(vec![deep]);
    }
    assert!(project(&deep, target).is_err());
    let nested = Value::Object(serde_json::Map::from_iter([("properties".to_owned(), deep)]));
    assert!(
        matches!(project(&nested, target), Err(ProjectError::Flatten(error)) if error.code() == "too_large")
    );
    // Dropping a value recurses too; that is not what is tested here.
    std::mem::forget(nested);
}

#[test]
fn the_deepest_schema_that_is_taken_is_projected() {
    let mut deep = json!({"type": "string"});
    for _ in 0..190 {
        deep = Value::Object(serde_json::Map::from_iter([
            ("type".to_owned(), json!("array")),
            ("items".to_owned(), deep),
        ]));
    }
    let tool = Value::Object(serde_json::Map::from_iter([
        ("properties".to_owned(), json!({})),
        ("if".to_owned(), deep),
    ]));
    for provider in Provider::ALL {
        assert!(!to(provider, true, &tool).strict);
    }
}

#[test]
fn limits_of_openai_are_kept_by_not_being_strict() {
    let names: serde_json::Map<String, Value> =
        (0..5001).map(|at| (format!("f{at}"), json!({"type": "null"}))).collect();
    let wide = json!({"type": "object", "properties": names});
    assert!(!to(Provider::OpenAiChat, true, &wide).strict);
    assert!(to(Provider::Anthropic, true, &wide).strict);
    let values: Vec<String> = (0..1001).map(|at| at.to_string()).collect();
    assert!(field(Provider::OpenAiChat, &json!({"enum": values})).is_err());
}

#[test]
fn providers_have_one_name_everywhere() {
    for provider in Provider::ALL {
        assert_eq!(provider.to_string().parse(), Ok(provider));
        assert_eq!(serde_json::to_value(provider).unwrap(), json!(provider.to_string()));
    }
    assert!("openai".parse::<Provider>().is_err());
}

#[test]
fn the_identity_changes_nothing() {
    let value = json!({"a": [null, {"b": null}]});
    assert_eq!(Inverse::default().apply(value.clone()), value);
    assert!(Inverse::default().is_identity());
}
