//! Bad input is a clear refusal, in bounded time and room, and nothing runs.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

mod world;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate::{
    Proposed, Registry, Settled,
    call::MAX_INPUT_BYTES,
    catalog::RegistryError,
    json::MAX_DEPTH,
    outcome::{
        Phase::{Resolve, Validate},
        RefusalCode::{InvalidArguments, InvalidJson, TooLarge, UnknownTool},
        Status,
    },
    schema::BadSchema,
    tool::{BadName, ToolBuilder},
};
use world::{Bodies, Count, World, fine, reader, refused};

/// Generous for a busy machine; what is unbounded takes minutes.
const SOON: Duration = Duration::from_secs(10);

/// No model reads more of a refusal than this.
const WORDS: usize = 5_000;

/// Proposes `input` to a reading tool and sees that it is refused soon, in few words, and that nothing runs.
async fn refusal_of(name: &str, input: &str) -> Settled {
    let runs = Count::default();
    let mut world = World::of(reader("read").answers(&runs, fine())).build();
    let began = Instant::now();
    let settled = world.propose(name, input).await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let told = serde_json::to_string(&settled).unwrap();
    assert!(told.len() < WORDS, "{} bytes of refusal", told.len());
    assert!(settled.refusal().unwrap().hint.is_some(), "it says what would be right");
    assert_eq!((settled.id.as_str(), runs.get()), ("c1", 0));
    settled
}

#[tokio::test]
async fn what_is_not_strict_json_is_refused_as_invalid_json() {
    let cases = [
        "",
        "   ",
        "{",
        "}",
        "{]",
        "nonsense",
        "undefined",
        "{} {}",
        "{}x",
        "{},",
        "\u{feff}{}",
        r#"{"n": NaN}"#,
        r#"{"n": Infinity}"#,
        r#"{"n": -Infinity}"#,
        r#"{"n": 1e999}"#,
        r#"{"n": 01}"#,
        r#"{"n": 1,}"#,
        r"{'n': 1}",
        r"{n: 1}",
        "{\"path\": \"a\nb\"}",
        "{\"path\": \"a\u{0}b\"}",
        r#"{"path": "\ud800"}"#,
        r#"{"path": "\udc00"}"#,
        r#"{"path": "\ud800\ud800"}"#,
        r#"{"path": "\x"}"#,
        r#"{"n": 1, "n": 1}"#,
        r#"{"n": 1, "\u006e": 2}"#,
        r#"{"x": {"y": 1, "y": 2}}"#,
        r#"{"x": [0, {"y": 1, "z": 0, "y": 2}]}"#,
        r#"{"": 1, "": 2}"#,
    ];
    for input in cases {
        assert_eq!(refused(&refusal_of("read", input).await), (Validate, InvalidJson), "{input:?}");
    }
}

#[tokio::test]
async fn a_duplicate_key_is_named_with_its_place() {
    let settled = refusal_of("read", "{\"path\": \"a\",\n \"path\": \"b\"}").await;
    let reason = &settled.refusal().unwrap().reason;
    assert!(reason.contains(r#"the key "path" stands twice in one object (line 2"#), "{reason}");
}

#[tokio::test]
async fn a_duplicate_key_of_any_length_is_shown_shortened() {
    let key = "k".repeat(1 << 20);
    let settled = refusal_of("read", &format!(r#"{{"{key}": 1, "{key}": 2}}"#)).await;
    assert_eq!(refused(&settled), (Validate, InvalidJson));
}

#[tokio::test]
async fn json_that_is_not_an_object_is_refused_as_invalid_arguments() {
    for input in
        ["null", "true", "1", "[]", r#""text""#, r#""{\"n\": 1}""#, &format!("[{}0]", "0,".repeat(100_000))]
    {
        let settled = refusal_of("read", input).await;
        assert_eq!(refused(&settled), (Validate, InvalidArguments));
        assert!(settled.refusal().unwrap().reason.contains("expected an object"));
    }
}

#[tokio::test]
async fn arguments_of_10_mb_are_too_large() {
    let input = format!(r#"{{"path": "{}"}}"#, "x".repeat(10_000_000));
    assert_eq!(refused(&refusal_of("read", &input).await), (Validate, TooLarge));
}

#[tokio::test]
async fn arguments_exactly_at_the_limit_are_read() {
    let mut world = World::of(reader("read").answers(&Count::default(), fine())).build();
    let input = |size: usize| format!(r#"{{"n": 1}}{}"#, " ".repeat(size - 8));
    assert_eq!(world.propose("read", input(MAX_INPUT_BYTES)).await.status(), Status::Ok);
    assert_eq!(refused(&world.propose("read", input(MAX_INPUT_BYTES + 1)).await), (Validate, TooLarge));
}

#[tokio::test]
async fn nesting_10_000_deep_is_too_large() {
    let deep = 10_000;
    let lists = format!(r#"{{"x": {}{}}}"#, "[".repeat(deep), "]".repeat(deep));
    let objects = format!("{}1{}", r#"{"x":"#.repeat(deep), "}".repeat(deep));
    let unclosed = "[".repeat(1_000_000);
    for input in [lists, objects, unclosed] {
        assert_eq!(refused(&refusal_of("read", &input).await), (Validate, TooLarge));
    }
}

#[tokio::test]
async fn nesting_at_the_limit_is_read() {
    let open = json!({"type": "object", "additionalProperties": true});
    let tool = ToolBuilder::new("t", "Takes anything.", open).unwrap().answers(&Count::default(), fine());
    let mut world = World::of(tool).build();
    let nested = |depth: usize| format!(r#"{{"x": {}{}}}"#, "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert_eq!(world.propose("t", nested(MAX_DEPTH)).await.status(), Status::Ok);
    assert_eq!(refused(&world.propose("t", nested(MAX_DEPTH + 1)).await), (Validate, TooLarge));
}

#[tokio::test]
async fn a_hundred_thousand_unknown_fields_are_counted_and_not_told_one_by_one() {
    let fields: Vec<_> = (0..100_000).map(|n| format!(r#""field{n}": {n}"#)).collect();
    let settled = refusal_of("read", &format!("{{{}}}", fields.join(", "))).await;
    assert_eq!(refused(&settled), (Validate, InvalidArguments));
    let last = settled.refusal().unwrap().violations.last().unwrap().message.clone();
    assert!(last.contains("99980 more"), "{last}");
}

#[tokio::test]
async fn an_unknown_field_and_a_wrong_value_are_quoted_shortened() {
    let long = "x".repeat(1 << 20);
    for input in
        [format!(r#"{{"{long}": 1}}"#), format!(r#"{{"n": "{long}"}}"#), format!(r#"{{"path": ["{long}"]}}"#)]
    {
        assert_eq!(refused(&refusal_of("read", &input).await), (Validate, InvalidArguments));
    }
}

#[tokio::test]
async fn a_name_that_is_empty_or_endless_is_unknown() {
    for name in ["", " ", &"n".repeat(10_000), &"é".repeat(10_000), "read\0", "READ", "../read"] {
        let settled = refusal_of(name, "{}").await;
        assert_eq!(refused(&settled), (Resolve, UnknownTool), "{name:.20}");
        assert!(settled.tool.chars().count() < 200);
    }
}

#[test]
fn a_tool_cannot_be_made_with_an_illegal_name() {
    let made = |name: &str| ToolBuilder::new(name, "A tool.", json!({"type": "object"})).map(|_| ());
    assert_eq!(made(""), Err(BadName::Empty));
    assert_eq!(made(&"n".repeat(10_000)), Err(BadName::TooLong(10_000)));
    assert_eq!(made("rm -rf"), Err(BadName::Character(' ')));
    assert_eq!(made("läs"), Err(BadName::Character('ä')));
    assert_eq!(made(&"n".repeat(128)), Ok(()));
}

fn register(schema: Value) -> Result<Registry, RegistryError> {
    Registry::new().with(ToolBuilder::new("t", "A tool.", schema).unwrap().answers(&Count::default(), fine()))
}

#[test]
fn a_schema_that_refers_to_itself_without_end_cannot_be_registered() {
    let loops = [
        json!({"$ref": "#"}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}},
            "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"allOf": [{"$ref": "#/$defs/x"}]}}}),
        json!({"allOf": [{"anyOf": [{"$ref": "#"}]}]}),
        json!({"type": "object", "properties": {"a": {"not": {"$ref": "#/properties/a"}}}}),
        json!({"type": "object", "if": {"$ref": "#"}}),
        // By any name a schema can be called.
        json!({"type": "object", "properties": {"a": {"$ref": "#x"}}, "$defs": {"x": {"$anchor": "x", "$ref": "#x"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "urn:x"}}, "$defs": {"x": {"$id": "urn:x", "not": {"$ref": "urn:x"}}}}),
        json!({"type": "object", "properties": {"a": {"$dynamicAnchor": "x", "allOf": [{"$dynamicRef": "#x"}]}}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object", "anyOf": [{"$recursiveRef": "#"}]}),
        json!({"type": "object", "dependentSchemas": {"a": {"$ref": "#"}}}),
    ];
    for schema in loops {
        let error = register(schema.clone()).map(|_| ()).unwrap_err();
        let endless = matches!(error, RegistryError::Schema { source: BadSchema::Endless(_), .. });
        assert!(endless, "{schema}: {error}");
    }
}

#[test]
fn a_schema_that_looks_at_one_value_in_ways_without_number_cannot_be_registered() {
    let chain = |length: usize, link: &dyn Fn(String) -> Value| {
        let mut links: serde_json::Map<_, _> =
            (0..length).map(|at| (format!("d{at}"), link(format!("#/$defs/d{}", at + 1)))).collect();
        links.insert(format!("d{length}"), json!({"type": "object"}));
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": links})
    };
    let twice = |next: String| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    let once = |next: String| json!({"$ref": next});
    assert!(register(chain(6, &twice)).is_ok() && register(chain(50, &once)).is_ok());
    for schema in [chain(40, &twice), chain(50_000, &once)] {
        let error = register(schema).map(|_| ()).unwrap_err();
        let many = matches!(error, RegistryError::Schema { source: BadSchema::TooManyWays(_), .. });
        assert!(many, "{error}");
    }
}

#[test]
fn a_schema_that_cannot_be_compiled_cannot_be_registered() {
    let broken = [
        json!({"type": "object", "properties": {"a": {"type": "nonsense"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}}),
        json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
        json!({"type": "string"}),
        json!([]),
        json!(true),
    ];
    for schema in broken {
        assert!(matches!(register(schema.clone()), Err(RegistryError::Schema { .. })), "{schema}");
    }
}

#[tokio::test]
async fn a_schema_may_refer_to_itself_on_smaller_values() {
    let tree = json!({"type": "object", "properties": {"inside": {"type": "array", "items": {"$ref": "#"}}}});
    let mut world = World::with(register(tree).unwrap()).build();
    assert_eq!(world.call("t", json!({"inside": [{"inside": []}]})).await.status(), Status::Ok);
    assert_eq!(refused(&world.call("t", json!({"inside": [{"n": 1}]})).await), (Validate, InvalidArguments));
}

#[tokio::test]
async fn a_pattern_that_would_backtrack_ends_soon() {
    for pattern in
        ["^(a+)+$", "^(a|a)*$", "^(?=(a+)+$)a", r"^(a+)+(?!b)$", r"^(\w+\s?)*(?<!x)$", r"^(a*)*\1$"]
    {
        let schema =
            json!({"type": "object", "properties": {"text": {"type": "string", "pattern": pattern}}});
        let mut world = World::with(register(schema).unwrap()).build();
        let began = Instant::now();
        let settled = world.call("t", json!({"text": "a".repeat(20_000) + "!"})).await;
        assert_eq!(refused(&settled), (Validate, InvalidArguments), "{pattern}");
        assert!(began.elapsed() < SOON, "{pattern} took {:?}", began.elapsed());
        assert!(serde_json::to_string(&settled).unwrap().len() < WORDS);
    }
}

#[test]
fn a_proposal_with_unknown_fields_is_no_proposal() {
    let read = |text: &str| serde_json::from_str::<Proposed>(text).map(|call| call.input.as_str().to_owned());
    let kept = read(r#"{"id": "a", "name": "t", "input": {"n": 1, "n": 2}}"#).unwrap();
    assert_eq!(kept, r#"{"n": 1, "n": 2}"#, "the text is kept as it was written");
    for text in [
        r#"{"id": "a", "name": "t", "input": {}, "permit": true}"#,
        r#"{"name": "t", "input": {}}"#,
        r#"{"id": "a", "input": {}}"#,
        r#"{"id": 1, "name": "t"}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}
