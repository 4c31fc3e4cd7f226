use serde_json::json;

use crate::world::World;

#[test]
fn a_schema_is_flattened_from_stdin_and_from_a_file() {
    let world = World::new();
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}});
    let flat = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    world.file("schema.json", format!("\u{feff}{schema}"));
    let ran = world.feed(&["schema", "flatten"], schema.to_string());
    assert_eq!((ran.code, ran.json()), (Some(0), flat.clone()));
    assert_eq!(world.run(&["schema", "flatten", "schema.json"]).json(), flat);
}

#[test]
fn a_schema_that_cannot_be_flattened_is_told_with_its_code_on_stdout_and_a_hint_on_stderr() {
    let cases = [
        (r##"{"$ref": "#"}"##.to_owned(), "recursive_ref", 3),
        (r#"{"$ref": "https://example.com/a.json"}"#.to_owned(), "external_ref", 3),
        (r##"{"$ref": "#/$defs/none"}"##.to_owned(), "unresolvable_ref", 3),
        ("[".repeat(10_000) + &"]".repeat(10_000), "too_large", 3),
        ("<html>".to_owned(), "unsupported", 2),
        (String::new(), "unsupported", 2),
    ];
    let world = World::new();
    for (schema, code, exit) in cases {
        let ran = world.feed(&["schema", "flatten"], &schema);
        assert_eq!((ran.code, ran.json()["code"].as_str()), (Some(exit), Some(code)), "{schema:.60}");
        assert!(ran.json()["message"].is_string());
        assert!(ran.err.contains("hint: ") && ran.err.len() < 2_000, "{ran:?}");
    }
}

#[test]
fn a_schema_of_five_megabytes_is_flattened_or_too_large_and_nothing_else() {
    let world = World::new();
    for (size, code) in [(4 << 20, Some(0)), (6 << 20, Some(3))] {
        let schema = json!({"type": "object", "description": "x".repeat(size)});
        let ran = world.feed(&["schema", "flatten"], schema.to_string());
        assert_eq!(ran.code, code, "{:.300}", ran.err);
        assert!(ran.code == Some(0) || ran.json()["code"] == "too_large");
        assert!(ran.err.len() < 1_000);
    }
}

#[test]
fn a_schema_is_projected_with_its_report_on_stderr() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]});
    let world = World::new();
    let ran = world.feed(
        &["schema", "project", "--provider", "openai-responses", "--strict", "--json"],
        schema.to_string(),
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["required"], json!(["a", "b"]));
    let report: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(report["strict"], true);
    let ran = world.feed(&["schema", "project", "--provider", "anthropic"], schema.to_string());
    assert!(ran.code == Some(0) && ran.err.contains("not strict"), "{ran:?}");
    for odd in ["true", "null", "[]", "3"] {
        let ran = world.feed(&["schema", "project", "--provider", "anthropic"], odd);
        assert_eq!((ran.code, ran.json()["code"].as_str()), (Some(3), Some("unsupported")), "{odd}");
    }
}
