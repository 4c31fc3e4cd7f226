//! Random schemas with references and random values: the flattened schema judges each as the original does.

use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::flatten;

const DRAFTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
];

/// How many definitions a document has. Each refers only to later ones, so there is always an end.
const DEFINITIONS: usize = 4;

/// How the definition `at` can be called, from anywhere in the document.
fn names(at: usize, named: bool) -> Vec<String> {
    let pointer = format!("root#/definitions/d{at}");
    if named {
        vec![pointer, format!("d{at}"), format!("./d{at}#"), format!("http://x.y/d{at}#a{at}")]
    } else {
        vec![pointer, format!("http://x.y/root#a{at}"), format!("root#/definitions/%64{at}")]
    }
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "$ref"]).prop_map(str::to_owned)
}

/// A keyword that looks at the value itself.
fn assertion() -> impl Strategy<Value = (String, Value)> {
    let kinds = vec!["string", "integer", "object", "array", "null"];
    prop_oneof![
        select(kinds).prop_map(|kind| ("type".into(), json!(kind))),
        (0..3).prop_map(|least| ("minimum".into(), json!(least))),
        (0..3).prop_map(|most| ("maxLength".into(), json!(most))),
        (0..3).prop_map(|most| ("maxItems".into(), json!(most))),
        name().prop_map(|name| ("required".into(), json!([name]))),
        Just(("enum".into(), json!([0, "a", null, {"$ref": "#/nowhere"}]))),
        Just(("const".into(), json!({"$ref": 1}))),
        Just(("description".into(), json!("A note."))),
    ]
}

/// A keyword with schemas in it.
fn applicator(inner: impl Strategy<Value = Value> + Clone + 'static) -> BoxedStrategy<(String, Value)> {
    let single = select(vec![
        "not",
        "items",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "if",
        "then",
        "else",
        "propertyNames",
        "additionalItems",
    ]);
    let map = select(vec!["properties", "patternProperties", "dependentSchemas", "x-unknown"]);
    prop_oneof![
        3 => (single, inner.clone()).prop_map(|(keyword, schema)| (keyword.into(), schema)),
        2 => (map, name(), inner.clone(), name(), inner.clone()).prop_map(|(keyword, a, x, b, y)| {
            let (a, b) = if keyword == "patternProperties" { ("^a".into(), "b|e".into()) } else { (a, b) };
            (keyword.into(), json!({a: x, b: y}))
        }),
        2 => (select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), prop::collection::vec(inner, 1..3))
            .prop_map(|(keyword, schemas)| (keyword.into(), Value::Array(schemas))),
    ]
    .boxed()
}

/// A schema that may use the given references.
fn schema(references: Vec<String>) -> BoxedStrategy<Value> {
    let reference = move || {
        let references = references.clone();
        if references.is_empty() {
            Just(None).boxed()
        } else {
            prop::option::weighted(0.6, select(references)).boxed()
        }
    };
    let object = |keywords: Vec<(String, Value)>, reference: Option<String>, at: prop::sample::Index| {
        let mut keywords = keywords;
        if let Some(reference) = reference {
            keywords.insert(at.index(keywords.len() + 1), ("$ref".into(), json!(reference)));
        }
        Value::Object(keywords.into_iter().collect())
    };
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::Bool),
        6 => (prop::collection::vec(assertion(), 0..3), reference(), any::<prop::sample::Index>())
            .prop_map(move |(keywords, reference, at)| object(keywords, reference, at)),
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let keyword = prop_oneof![1 => assertion(), 2 => applicator(inner)];
        (prop::collection::vec(keyword, 1..4), reference(), any::<prop::sample::Index>())
            .prop_map(move |(keywords, reference, at)| object(keywords, reference, at))
    })
    .boxed()
}

/// A document whose definitions have ids, anchors or neither.
fn document() -> impl Strategy<Value = Value> {
    (prop::collection::vec(any::<bool>(), DEFINITIONS), select(DRAFTS.to_vec())).prop_flat_map(
        |(named, draft)| {
            // Before 2019 there was no `$anchor`.
            let anchors = draft.contains("20");
            let callable = |from: usize| -> Vec<String> {
                (from..DEFINITIONS)
                    .flat_map(|at| names(at, named[at]))
                    .filter(|name| anchors || !name.contains("#a"))
                    .collect()
            };
            let definitions: Vec<_> = (0..DEFINITIONS).map(|at| schema(callable(at + 1))).collect();
            let named = named.clone();
            (schema(callable(0)), definitions).prop_map(move |(root, definitions)| {
                let definitions = definitions.into_iter().enumerate().map(|(at, definition)| {
                    let mut definition = object_of(definition);
                    if named[at] {
                        definition.insert("$id".into(), json!(format!("d{at}")));
                    }
                    if anchors {
                        definition.insert("$anchor".into(), json!(format!("a{at}")));
                    }
                    // In older drafts an id beside a reference is none: the name would lead nowhere.
                    if !anchors && named[at] {
                        definition.shift_remove("$ref");
                    }
                    (format!("d{at}"), Value::Object(definition))
                });
                let definitions: Map<_, _> = definitions.collect();
                let mut root = object_of(root);
                if !anchors {
                    root.shift_remove("$ref");
                }
                root.insert("$schema".into(), json!(draft));
                root.insert("$id".into(), json!("http://x.y/root"));
                root.insert("definitions".into(), Value::Object(definitions));
                Value::Object(root)
            })
        },
    )
}

fn object_of(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(map) => map,
        boolean => Map::from_iter([("allOf".to_owned(), json!([boolean]))]),
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::Bool),
        (0..4).prop_map(|number| json!(number)),
        Just(json!(1.5)),
        select(vec!["", "a", "bb", "ccc"]).prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(select(vec!["a", "ab", "b", "$ref"]), inner, 0..4)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_flattened_schema_means_what_the_original_means(
        schema in document(),
        values in prop::collection::vec(value(), 24),
    ) {
        let flat = flatten(&schema).map_err(|error| TestCaseError::fail(format!("{error}\n{schema}")))?;
        let text = flat.to_string();
        prop_assert!(!text.contains("$id") && !text.contains("definitions\""), "names are left: {}", text);
        let build = |schema: &Value| {
            jsonschema::validator_for(schema).map_err(|error| TestCaseError::reject(error.to_string()))
        };
        let (before, after) = (build(&schema)?, build(&flat)?);
        for value in &values {
            prop_assert_eq!(before.is_valid(value), after.is_valid(value), "{}\n{}\n{}", schema, flat, value);
        }
        prop_assert_eq!(flatten(&flat), Ok(flat));
    }

    #[test]
    fn any_json_is_flattened_or_refused(value in value()) {
        let _ = flatten(&value);
        let _ = flatten(&json!({"$ref": "#/a", "a": value}));
    }
}
