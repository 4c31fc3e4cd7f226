//! Values that fit a strict schema, for tests: everything the schema allows, and nothing more polite than that.

use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// Values that fit. Formats are ignored: they promise nothing.
pub(crate) fn fitting(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(only) = schema.get("const") {
        return Just(only.clone()).boxed();
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return select(values.clone()).boxed();
    }
    if let Some(Value::Array(forms)) = schema.get("anyOf") {
        return proptest::strategy::Union::new(forms.iter().map(fitting)).boxed();
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        other => panic!("a strict schema has a type, not {other:?}: {schema}"),
    };
    proptest::strategy::Union::new(types.into_iter().map(|name| of_type(name, schema))).boxed()
}

fn of_type(name: &str, schema: &Value) -> BoxedStrategy<Value> {
    match name {
        "null" => Just(Value::Null).boxed(),
        "boolean" => any::<bool>().prop_map(Value::Bool).boxed(),
        "string" => prop_oneof![
            Just(String::new()),
            select(vec!["null", "0", "a b", "https://x.y/z", "\u{0}", "ä\u{202e}"]).prop_map(str::to_owned),
            ".{0,20}",
        ]
        .prop_map(Value::String)
        .boxed(),
        "integer" => integers(),
        "number" => prop_oneof![
            integers(),
            any::<f64>().prop_filter_map("JSON has no NaN", |number| serde_json::Number::from_f64(number)
                .map(Value::Number)),
            select(vec![json!(0.5), json!(-0.0), json!(1e308), json!(1.0)]),
        ]
        .boxed(),
        "array" => {
            let bound = |keyword: &str| {
                schema.get(keyword).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok())
            };
            let least = bound("minItems").unwrap_or(0);
            let most = bound("maxItems").unwrap_or(least + 3).min(least + 3);
            prop::collection::vec(fitting(&schema["items"]), least..=most).prop_map(Value::Array).boxed()
        }
        "object" => object(schema),
        other => panic!("{other:?} is not a type"),
    }
}

fn integers() -> BoxedStrategy<Value> {
    prop_oneof![
        any::<i8>().prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        select(vec![
            json!(0),
            json!(-1),
            json!(u64::MAX),
            json!(9_007_199_254_740_992_u64),
            json!(1.0),
            json!(1e300)
        ]),
    ]
    .boxed()
}

fn object(schema: &Value) -> BoxedStrategy<Value> {
    assert_eq!(schema["additionalProperties"], json!(false), "a strict object is closed: {schema}");
    let required: Vec<&Value> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().collect();
    let mut fields: BoxedStrategy<Map<String, Value>> = Just(Map::new()).boxed();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let value = fitting(field);
        let value = if required.contains(&&json!(name)) {
            value.prop_map(Some).boxed()
        } else {
            prop::option::of(value).boxed()
        };
        let name = name.clone();
        fields = (fields, value)
            .prop_map(move |(mut fields, value)| {
                fields.extend(value.map(|value| (name.clone(), value)));
                fields
            })
            .boxed();
    }
    fields.prop_map(Value::Object).boxed()
}
