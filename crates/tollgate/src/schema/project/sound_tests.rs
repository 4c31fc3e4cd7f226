//! Random tools: what a strict projection accepts the original accepts, and a loose one refuses nothing it accepts.

use proptest::{prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Map, Value, json};

use super::{ProjectOptions, Provider, Target, check_provider_rules, instances::fitting, project_with};
use crate::schema::Compiled;

const DRAFTS: [Option<&str>; 5] = [
    None,
    Some("https://json-schema.org/draft/2020-12/schema"),
    Some("https://json-schema.org/draft/2019-09/schema"),
    Some("http://json-schema.org/draft-07/schema#"),
    Some("http://json-schema.org/draft-04/schema#"),
];

fn keyed(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// What tools say about one value.
fn plain() -> BoxedStrategy<Value> {
    let bound = select(vec!["minimum", "maximum", "multipleOf"]);
    prop_oneof![
        4 => select(vec!["string", "integer", "number", "boolean", "null"]).prop_map(|name| json!({"type": name})),
        2 => select(vec![
            json!({"type": "integer", "minimum": 0, "maximum": 9}),
            json!({"type": "number", "minimum": -1.5, "maximum": 2.5}),
            json!({"type": "integer", "minimum": 1, "maximum": 40, "multipleOf": 10, "default": 10}),
            json!({"minimum": 1, "maximum": 4}),
        ]),
        1 => (bound, 1..5).prop_map(|(bound, limit)| keyed([("type", json!("integer")), (bound, json!(limit))])),
        2 => select(vec![
            json!({"enum": ["a", "b"]}),
            json!({"enum": [1, 1.5, null, "a", [1], {}]}),
            json!({"type": "string", "enum": ["a", 1, "bbb"], "maxLength": 2}),
            json!({"const": "a"}),
            json!({"const": null}),
        ]),
        1 => select(vec!["uuid", "date", "uri", "int32"]).prop_map(|format| json!({"type": "string", "format": format})),
        1 => Just(json!({"type": ["string", "null"], "description": "Some text.", "examples": ["x"]})),
        1 => Just(json!({"type": "string", "minLength": 1})),
        1 => Just(json!({"type": "object", "additionalProperties": true})),
        1 => select(vec![json!({}), json!(true), json!(false), json!({"type": "object"}), json!({"type": ["object", "null"]})]),
        2 => Just(json!({"$ref": "#/$defs/shared"})),
    ]
    .boxed()
}

/// What tools say about objects, of whatever is inside.
fn object(inner: &BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let names = select(vec!["a", "b", "c", "kind", "user name", "x/y"]);
    let field =
        prop_oneof![4 => inner.clone(), 1 => select(vec![json!({"const": "a"}), json!({"const": "b"})])];
    let fields = prop::collection::btree_map(names, field, 0..4);
    let further =
        select(vec![None, None, Some(json!(false)), Some(json!(true)), Some(json!({"type": "string"}))]);
    let extra = select(vec![
        json!({}),
        json!({}),
        json!({}),
        json!({}),
        json!({"minProperties": 1}),
        json!({"maxProperties": 2}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"propertyNames": {"maxLength": 1}}),
        json!({"patternProperties": {"^a": {"type": "string"}}}),
        json!({"description": "An object."}),
    ]);
    (fields, prop::collection::vec(any::<bool>(), 6), further, extra)
        .prop_map(|(fields, needed, further, extra)| {
            let required: Vec<_> =
                fields.keys().zip(needed).filter(|(_, needed)| *needed).map(|(name, _)| *name).collect();
            let fields: Map<String, Value> =
                fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone())).collect();
            let mut schema = json!({"type": "object", "properties": fields});
            if !required.is_empty() {
                schema["required"] = json!(required);
            }
            if let Some(further) = further {
                schema["additionalProperties"] = further;
            }
            schema.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            schema
        })
        .boxed()
}

fn schema() -> BoxedStrategy<Value> {
    plain()
        .prop_recursive(3, 16, 4, |inner| {
            let list = prop::collection::vec(inner.clone(), 1..4);
            prop_oneof![
                3 => object(&inner),
                2 => (inner.clone(), select(vec![json!({}), json!({"minItems": 1}), json!({"minItems": 2}), json!({"maxItems": 2}), json!({"uniqueItems": true})]))
                    .prop_map(|(items, more)| {
                        let mut schema = json!({"type": "array", "items": items});
                        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                        schema
                    }),
                1 => inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
                1 => inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values, "minProperties": 1, "propertyNames": {"enum": ["a", "user_name"]}})),
                2 => list.clone().prop_map(|forms| json!({"anyOf": forms, "description": "One of several."})),
                2 => list.clone().prop_map(|forms| json!({"oneOf": forms})),
                1 => list.clone().prop_map(|parts| json!({"allOf": parts})),
                1 => (object(&inner), list, select(vec!["anyOf", "oneOf", "allOf"])).prop_map(|(mut base, forms, keyword)| {
                    base[keyword] = json!(forms);
                    base
                }),
                1 => inner.prop_map(|inner| json!({"type": "object", "properties": {"a": inner}, "allOf": [{"properties": {"b": {"type": "string"}}}], "unevaluatedProperties": false})),
            ]
        })
        .boxed()
}

/// The schema of a tool's arguments.
fn tool() -> BoxedStrategy<Value> {
    let inner = schema();
    let more = prop_oneof![
        6 => Just(None),
        1 => (select(vec!["anyOf", "oneOf", "allOf"]), prop::collection::vec(object(&inner), 1..4))
            .prop_map(|(keyword, parts)| Some(json!({keyword: parts}))),
        1 => (object(&inner), object(&inner)).prop_map(|(a, b)| Some(json!({"if": a, "then": b}))),
        1 => object(&inner).prop_map(|part| Some(json!({"not": part}))),
    ];
    (object(&inner), more, inner, select(DRAFTS.to_vec()))
        .prop_map(|(mut root, more, shared, draft)| {
            let recursive = shared.to_string().contains("$ref");
            root["$defs"] = json!({"shared": if recursive { json!({"type": "string"}) } else { shared }});
            if let Some(more) = more {
                root.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            }
            if let Some(draft) = draft {
                root["$schema"] = json!(draft);
            }
            root
        })
        .boxed()
}

fn value() -> BoxedStrategy<Value> {
    let leaf = select(vec![
        json!(null),
        json!(0),
        json!(1),
        json!(1.5),
        json!(10),
        json!("a"),
        json!("b"),
        json!(""),
    ]);
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map(select(vec!["a", "b", "c", "kind", "user name", "x/y"]), inner, 0..4)
                .prop_map(|map| map
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect::<Map<_, _>>()
                    .into()),
        ]
    })
    .boxed()
}

fn providers() -> impl Strategy<Value = Provider> {
    select(Provider::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_strict_projection_accepts_the_original_accepts_after_the_inverse(
        tool in tool(),
        provider in providers(),
        leave_out_optional in any::<bool>(),
    ) {
        let Ok(original) = Compiled::arguments(&tool) else { return Err(TestCaseError::reject("not a schema")) };
        let target = Target { provider, strict: true };
        let options = ProjectOptions { leave_out_optional, ..ProjectOptions::default() };
        let projection = project_with(&tool, target, options).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let rules = check_provider_rules(&projection.schema, Target { strict: projection.strict, provider });
        prop_assert!(rules.is_empty(), "{rules:?}: {}", projection.schema);
        if projection.strict {
            prop_assert!(projection.report.not_strict.is_empty());
            let mut runner = TestRunner::deterministic();
            let sent = fitting(&projection.schema);
            for _ in 0..24 {
                let sent = sent.new_tree(&mut runner).unwrap().current();
                let arrived = projection.inverse.apply(sent.clone());
                prop_assert!(original.accepts(&arrived), "{tool}\n{}\n{sent}\n{arrived}\n{:?}", projection.schema, original.violations(&arrived));
            }
        } else {
            prop_assert!(!projection.report.not_strict.is_empty());
        }
    }

    #[test]
    fn a_loose_projection_refuses_nothing_the_original_accepts(
        tool in tool(),
        provider in providers(),
        values in prop::collection::vec(value(), 24),
    ) {
        let Ok(original) = Compiled::arguments(&tool) else { return Err(TestCaseError::reject("not a schema")) };
        let projection = project_with(&tool, Target { provider, strict: false }, ProjectOptions::default()).unwrap();
        let loose = Compiled::any(&projection.schema).map_err(|error| TestCaseError::fail(format!("{error}: {}", projection.schema)))?;
        // Where keys were renamed, the values would have to be renamed too. Older drafts check formats, so that on
        // the wire more forms of several may fit, and draft 4 stays open where it is composed of parts.
        let text = tool.to_string();
        let checks_formats = text.contains("draft-0") && text.contains("\"format\"");
        let stays_open = text.contains("draft-04") && ["anyOf", "oneOf", "allOf", "if"].iter().any(|key| tool.get(key).is_some());
        if projection.inverse.is_identity() && !checks_formats && !stays_open {
            for value in values.iter().filter(|value| value.is_object() && original.accepts(value)) {
                prop_assert!(loose.accepts(value), "{tool}\n{}\n{value}", projection.schema);
            }
        }
    }

    #[test]
    fn any_json_is_projected_or_refused(value in value(), provider in providers(), strict in any::<bool>()) {
        let _ = project_with(&value, Target { provider, strict }, ProjectOptions::default());
        let _ = project_with(&json!({"properties": value, "required": value, "anyOf": value, "type": value}), Target { provider, strict }, ProjectOptions::default());
    }
}
