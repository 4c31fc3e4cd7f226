//! The short way says yes only where the long one does, and finds the same likeness on the way.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::{compile::Compiled, plain, quick::Quick};
use crate::json::{Likeness, parse_strict};

fn accepts(quick: &Quick, text: &str) -> Option<Likeness> {
    plain::read::<IgnoredAny>(quick, text).map(|(_, found)| found)
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150, "format": "uint8"},
            "size": {"type": "number"},
            "kind": {"type": "string", "enum": ["cat", "dog"]},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
            "home": {"type": "object", "properties": {"open": {"type": "boolean"}}, "required": ["open"]},
        },
        "required": ["name"],
        "additionalProperties": false,
    })
}

#[test]
fn plain_arguments_are_known_by_one_look_at_their_text() {
    let quick = Quick::of(&person()).expect("a plain schema");
    for text in [
        r#"{"name":"Ann"}"#,
        r#" { "age" : 0 , "name" : "" } "#,
        "{\"name\":\"grün 🙂\",\n\t\"tags\":[],\"size\":-12}",
        r#"{"name":"a","kind":"dog","tags":["x",null],"home":{"open":true},"age":150}"#,
    ] {
        let found = accepts(&quick, text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(found, Likeness::of(&parse_strict(text, 1_000).expect("JSON")), "{text}");
    }
}

#[test]
fn whatever_is_not_plain_is_left_to_the_validator() {
    let quick = Quick::of(&person()).expect("a plain schema");
    for text in [
        "",
        "{}",
        "null",
        r#"{"name":"a"} x"#,
        r#"{"name":"a",}"#,
        r#"{"name":"a" "age":1}"#,
        r#"{"name":"a","name":"a"}"#,
        r#"{"name":"a","nmae":"a"}"#,
        r#"{"name":"a\n"}"#,
        "{\"name\":\"a\nb\"}",
        r#"{"name":1}"#,
        r#"{"name":"a","age":-1}"#,
        r#"{"name":"a","age":151}"#,
        r#"{"name":"a","age":01}"#,
        r#"{"name":"a","age":1.0}"#,
        r#"{"name":"a","size":1e3}"#,
        r#"{"name":"a","size":-0}"#,
        r#"{"name":"a","size":-}"#,
        r#"{"name":"a","size":1234567890123456789}"#,
        r#"{"name":"a","kind":"cow"}"#,
        r#"{"name":"a","tags":[1]}"#,
        r#"{"name":"a","tags":["x"}"#,
        r#"{"name":"a","home":{}}"#,
        r#"{"name":"a","home":{"open":truth}}"#,
        r#"{"name":"a","home":{"open":true}"#,
        "{\"name\":\"a",
    ] {
        assert_eq!(accepts(&quick, text), None, "{text}");
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Cat,
    Dog,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Tag(Option<String>);

#[derive(Debug, PartialEq, Deserialize)]
struct Person {
    name: String,
    age: Option<u8>,
    size: Option<f64>,
    kind: Option<Kind>,
    #[serde(default)]
    tags: Vec<Tag>,
    home: Option<BTreeMap<String, bool>>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Rest {
    name: char,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Stops after the first field.
#[derive(Debug, PartialEq)]
struct First(String);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = First;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<First, A::Error> {
                let first: Option<(String, Value)> = map.next_entry()?;
                Ok(First(first.map(|(key, _)| key).unwrap_or_default()))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[test]
fn a_type_read_the_short_way_is_what_it_is_read_the_long_way() {
    let quick = Quick::of(&person()).expect("a plain schema");
    for text in [
        r#"{"name":"Ann"}"#,
        r#"{"size":-12,"name":"a","kind":"dog","tags":["x",null],"home":{"open":true},"age":150}"#,
        r#"{"name":"a","kind":"cat","tags":[],"home":{"open":false},"size":3}"#,
    ] {
        let long: Person = serde_json::from_str(text).expect("a person");
        assert_eq!(plain::read(&quick, text).map(|(short, _)| short), Some(long), "{text}");
        let long: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(plain::read(&quick, text).map(|(short, _)| short), Some(long), "{text}");
    }
    let text = r#"{"name":"a","age":3,"tags":["x"]}"#;
    let long: Rest = serde_json::from_str(text).expect("the rest");
    assert_eq!(plain::read(&quick, text).map(|(short, _)| short), Some(long));
}

#[test]
fn a_type_that_wants_another_way_or_stops_early_is_left_to_the_long_one() {
    let quick = Quick::of(&person()).expect("a plain schema");
    let text = r#"{"name":"a","age":3}"#;
    assert!(plain::read::<First>(&quick, text).is_none());
    assert!(plain::read::<BTreeMap<u8, Value>>(&quick, text).is_none());
    assert!(plain::read::<Box<serde_json::value::RawValue>>(&quick, text).is_none());
    assert!(plain::read::<Vec<Value>>(&quick, text).is_none());
}

#[test]
fn a_schema_that_asks_for_more_has_no_short_way() {
    for more in [
        json!({"pattern": "^a"}),
        json!({"anyOf": [{"type": "string"}]}),
        json!({"$ref": "#/$defs/a"}),
        json!({"enum": [1, "a"]}),
        json!({"minimum": 0.5}),
        json!({"format": "date"}),
        json!({"properties": {"$result": {"type": "string"}}}),
        json!({"required": ["elsewhere"]}),
        json!({"items": [{"type": "string"}]}),
        json!(false),
    ] {
        assert!(Quick::of(&json!({"properties": {"a": more.clone()}})).is_none(), "{more}");
    }
}

/// Schemas of the kinds the short way knows, and of some it does not.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "integer", "minimum": -3, "maximum": 12})),
        Just(json!({"type": ["number", "null"]})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "string", "enum": ["a", "b"]})),
        Just(json!({"enum": ["a", ""]})),
        Just(json!({"type": "string", "minLength": 1})),
        Just(json!({})),
        Just(json!(true)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            (prop::collection::btree_map("[abc]", inner, 0..3), any::<bool>()).prop_map(|(fields, all)| {
                let required: Vec<_> = fields.keys().filter(|_| all).cloned().collect();
                json!({"type": "object", "properties": fields, "required": required})
            }),
        ]
    })
}

/// Texts that are JSON, or nearly.
fn texts() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "0",
        "1",
        "12",
        "-3",
        "-0",
        "01",
        "1.5",
        "1e2",
        "999999999999999999",
        "9999999999999999999",
        "true",
        "false",
        "null",
        "nul",
        r#""a""#,
        r#""b""#,
        r#""""#,
        r#""a\u0062""#,
        r#""\"""#,
        "\"\t\"",
        r#""ä""#,
    ]);
    let leaf = word.prop_map(str::to_owned);
    leaf.prop_recursive(3, 16, 4, |inner| {
        let blank = prop::sample::select(vec!["", " ", "\n"]);
        let key = prop::sample::select(vec![r#""a""#, r#""b""#, r#""c""#, r#""d""#, r#""\u0061""#, "a"]);
        let field =
            (key, blank.clone(), inner.clone()).prop_map(|(key, gap, value)| format!("{key}{gap}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            (prop::collection::vec(field, 0..4), blank)
                .prop_map(|(fields, gap)| format!("{{{}}}{gap}", fields.join(&format!("{gap},")))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_yes_of_the_short_way_is_one_of_the_long_way(schema in schemas(), text in texts()) {
        let object = json!({"type": "object", "properties": {"a": schema, "b": {"type": "integer"}}});
        let compiled = Compiled::arguments(object).expect("a schema");
        for text in [format!("{{\"a\":{text}}}"), text] {
            if let Some(likeness) = compiled.read::<IgnoredAny>(&text).map(|(_, likeness)| likeness) {
                let value = parse_strict(&text, usize::MAX);
                let value = value.unwrap_or_else(|error| panic!("{text} is no strict JSON: {error}"));
                prop_assert!(compiled.accepts(&value), "{text}");
                prop_assert_eq!(likeness, Likeness::of(&value));
            }
        }
    }

    #[test]
    fn the_likeness_of_values_is_the_same_exactly_where_they_are(one in texts(), two in texts()) {
        let read = |text: &str| parse_strict(text, usize::MAX).ok();
        if let (Some(one), Some(two)) = (read(&one), read(&two)) {
            prop_assert_eq!(one == two, Likeness::of(&one) == Likeness::of(&two), "{} {}", one, two);
        }
    }
}
