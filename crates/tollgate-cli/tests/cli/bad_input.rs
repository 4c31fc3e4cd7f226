use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{World, tools};

const CALL: [&str; 8] = ["call", "echo", "-", "--json", "--mocks", "mocks.json", "--allow", "*"];

fn code_of(input: impl AsRef<[u8]> + Send) -> String {
    let world = World::with(&tools(&[("echo", json!({}))]));
    let began = Instant::now();
    let ran = world.feed(&CALL, input);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(ran.code, Some(3), "{:.300}", ran.err);
    let json = ran.json();
    assert_eq!(json["attempts"], json!(0));
    assert!(json["reason"].as_str().unwrap().len() < 1_000, "{:.2000}", json["reason"]);
    ran.status().1
}

#[test]
fn ten_megabytes_of_arguments_are_too_large() {
    assert_eq!(code_of(json!({"a": "x".repeat(10 << 20)}).to_string()), "too_large");
}

#[test]
fn arguments_without_end_are_read_to_a_limit_and_no_further() {
    let world = World::with(&tools(&[("echo", json!({}))]));
    let ran = world.feed(&CALL, "[".repeat(100 << 20));
    assert_eq!(ran.status().1, "too_large");
    // 16 times what a call may have: enough to say how much is too much.
    assert!(ran.json()["reason"].as_str().unwrap().contains("67108864 bytes"), "{}", ran.out);
}

#[test]
fn nesting_of_ten_thousand_levels_is_too_large() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    assert_eq!(code_of(deep), "too_large");
}

#[test]
fn what_is_not_strict_json_is_refused() {
    let cases: [&[u8]; 10] = [
        b"",
        b"{",
        br#"{"a": 1, "a": 2}"#,
        br#"{"a": "\ud800"}"#,
        br#"{"a": NaN}"#,
        br#"{"a": Infinity}"#,
        br#"{"a": 1e999}"#,
        br#"{"a": 1} trailing"#,
        b"```json\n{}\n```",
        b"{'a': 1}",
    ];
    for input in cases {
        assert_eq!(code_of(input), "invalid_json", "{}", String::from_utf8_lossy(input));
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_and_never_replaced() {
    assert_eq!(code_of(b"{\"a\": \"\xc0\xaf\"}"), "protocol_error");
}

#[test]
fn what_is_no_object_is_refused() {
    for input in ["null", "[]", "3", "\"{}\"", "true"] {
        assert_eq!(code_of(input), "invalid_arguments", "{input}");
    }
}

#[test]
fn odd_names_are_unknown_tools_and_are_told_in_short() {
    let world = World::with(&tools(&[("read_file", json!({}))]));
    let long = "x".repeat(10_000);
    for name in ["", " ", "read_file ", "../read_file", "read_fіle", "read_file; rm -rf /", "\u{7}", &long] {
        let ran = world.allowed(&["call", name, "{}", "--json"]);
        assert_eq!(ran.status().1, "unknown_tool", "{name:.30}");
        assert!(ran.out.len() < 1_000 && ran.err.len() < 1_000, "{name:.30}");
    }
    let ran = world.allowed(&["call", &long, "{}"]);
    assert!(ran.err.len() < 1_000, "{} characters of talk", ran.err.len());
}

#[test]
fn a_schema_that_refers_to_itself_without_end_sets_its_tool_aside() {
    let mocks = json!({"tools": [
        {"name": "loop", "input_schema": {"type": "object", "$ref": "#/$defs/a", "$defs": {
            "a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}},
        {"name": "tree", "input_schema": {"type": "object", "$ref": "#/$defs/node", "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}}},
    ]});
    let world = World::with(&mocks);
    let ran = world.allowed(&["call", "loop", "{}", "--json"]);
    assert_eq!(ran.status().1, "unknown_tool");
    assert!(ran.err.contains("loop: the schema refers to itself without end"), "{ran:?}");
    // A tree ends where its value ends.
    assert_eq!(world.allowed(&["call", "tree", r#"{"next": {"next": {}}}"#]).code, Some(0));
}

#[test]
fn a_pattern_that_would_go_back_for_ever_comes_to_an_end() {
    let field = |pattern: &str| json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}, "required": ["a"]});
    let mocks = json!({"tools": [
        {"name": "linear", "input_schema": field("^(a+)+$")},
        {"name": "around", "input_schema": field("^(?=(a+)+$)(?!b).*$")},
        {"name": "checked", "input_schema": {"type": "object", "additionalProperties": true},
         "check": [{"pointer": "/a", "matches": "^(a|a)*$", "message": "only a"}]},
    ]});
    let world = World::with(&mocks);
    let input = json!({"a": format!("{}!", "a".repeat(50_000))}).to_string();
    for (tool, code) in
        [("linear", "invalid_arguments"), ("around", "invalid_arguments"), ("checked", "invalid_value")]
    {
        let began = Instant::now();
        let args = ["call", tool, "-", "--json", "--mocks", "mocks.json", "--allow", "*"];
        let ran = world.feed(&args, &input);
        assert_eq!(ran.status().1, code, "{tool}");
        assert!(began.elapsed() < Duration::from_secs(20), "{tool}: {:?}", began.elapsed());
    }
}

#[test]
fn a_person_who_slips_is_told_what_to_type_next() {
    let world = World::new();
    for (args, said) in [
        (&["trace"][..], "hint: name one of these commands"),
        (&["call", "read_file", "path=a"], "`tollgate tools show read_file` shows them"),
        (&["call", "read_file", "{}"], "`tollgate tools show read_file` shows them all."),
        (
            &["call", "write", r#"{"path":"a","content":"x"}"#],
            "`tollgate explain write JSON` shows narrower rules.",
        ),
        (&["mcp", "check"], "error: no server is configured\nhint: `tollgate mcp add NAME"),
        (&["mcp", "check", "up"], "error: no server is called \"up\"\nhint: `tollgate mcp list`"),
    ] {
        let ran = world.run(args);
        assert!(ran.err.contains(said), "{args:?}: {ran:?}");
    }
}

#[test]
fn an_empty_key_caller_or_route_is_a_mistake_and_shared_with_nobody() {
    let world = World::with(&tools(&[("pay", json!({}))]));
    for option in ["--idempotency-key", "--caller", "--route"] {
        for call in [&["call", "pay", option, ""][..], &["call", "pay", &format!("{option}=")]] {
            let ran = world.allowed(call);
            assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{call:?} {ran:?}");
            assert!(ran.err.contains(option) && ran.err.contains("\nhint: "), "{ran:?}");
        }
    }
}
