use serde_json::{Value, json};

use crate::world::World;

fn world() -> World {
    let argument = json!({"type": "object", "additionalProperties": false, "required": ["id"],
        "properties": {"id": {"type": "string", "description": "The number of the invoice."}}});
    World::with(&json!({
    "routes": {"reading": ["get_invoice"]},
    "tools": [
        {"name": "get_invoice", "description": "Returns one invoice with all of its lines.",
         "input_schema": argument, "aliases": ["invoice"], "max_result_chars": 5000, "interrupt": "cancel",
         "effects": {"read_only": true, "destructive": false, "idempotent": true, "open_world": false}},
        {"name": "process_data", "input_schema": {"type": "object", "properties": {"x": {"type": "string"}}},
         "effects": {"read_only": false}},
        {"name": "loop", "description": "Refers to itself and cannot be told to anyone.", "visibility": "deferred",
         "input_schema": {"type": "object", "properties": {"next": {"$ref": "#"}}}},
        {"name": "bad", "input_schema": true},
    ]}))
}

#[test]
fn tools_are_listed_with_what_each_costs_and_all_of_them() {
    let ran = world().on_mocks(&["tools", "list", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = ran.lines();
    let names: Vec<_> = lines.iter().filter_map(|line| line["name"].as_str()).collect();
    assert_eq!(names, ["get_invoice", "loop", "process_data"]);
    let costs: u64 = lines.iter().filter_map(|line| line["tokens"].as_u64()).sum();
    assert_eq!(lines.last().unwrap()["total"]["tokens"].as_u64(), Some(costs));
    assert!(costs > 20 && ran.err.contains("bad"), "{ran:?}");
    let ran = world().on_mocks(&["tools", "list", "--provider", "openai-chat"]);
    assert!(ran.out.contains("get_invoice") && ran.out.contains("reads"), "{ran:?}");
    assert!(ran.err.contains("estimate"), "{ran:?}");
    let ran = world().on_mocks(&["tools", "list", "--json", "--route", "reading"]);
    assert_eq!(ran.lines().len(), 2);
    let ran = world().on_mocks(&["tools", "list", "--json", "--deny", "get_*"]);
    assert!(!ran.out.contains("get_invoice"), "a tool that is refused outright is not offered: {ran:?}");
}

#[test]
fn one_tool_is_shown_by_its_name_or_alias_with_what_becomes_of_its_schema() {
    let world = world();
    let ran =
        world.on_mocks(&["tools", "show", "invoice", "--provider", "openai-responses", "--strict", "--json"]);
    let shown = ran.json();
    assert_eq!((&shown["name"], &shown["projection"]["strict"]), (&json!("get_invoice"), &json!(true)));
    let ran = world.on_mocks(&["tools", "show", "loop", "--provider", "anthropic"]);
    assert!(ran.code == Some(0) && ran.out.contains("error"), "{ran:?}");
    let ran = world.on_mocks(&["tools", "show", "nothing"]);
    assert!(ran.code == Some(2) && ran.err.contains("hint: "), "{ran:?}");
}

#[test]
fn tools_are_found_by_words_for_what_they_do() {
    let ran = world().on_mocks(&["tools", "search", "lines of an invoice", "--json"]);
    assert_eq!(ran.lines()[0]["name"], "get_invoice");
    assert_eq!(world().on_mocks(&["tools", "search", "zzzz"]).code, Some(0));
}

#[test]
fn an_export_is_the_provider_s_array_and_names_what_was_set_aside() {
    for (provider, key) in
        [("anthropic", "input_schema"), ("openai-responses", "parameters"), ("openai-chat", "function")]
    {
        for strict in [&[][..], &["--strict"]] {
            let args = [&["tools", "export", "--provider", provider], strict].concat();
            let ran = world().on_mocks(&args);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let tools = ran.json();
            assert!(tools.as_array().unwrap().iter().any(|tool| !tool[key].is_null()), "{tools}");
            assert!(provider == "openai-chat" || ran.err.contains("loop"), "{ran:?}");
            assert_eq!(world().on_mocks(&args).out, ran.out, "the same tools give the same bytes");
        }
    }
    assert_eq!(world().on_mocks(&["tools", "export"]).code, Some(2));
}

#[test]
fn findings_come_with_their_fix_and_deny_makes_them_an_error() {
    let world = world();
    let ran = world.on_mocks(&["tools", "lint", "--json"]);
    assert_eq!(ran.code, Some(0));
    let lines = ran.lines();
    let rules = |tool: &str| -> Vec<Value> {
        let of = lines.iter().filter(|line| line["tool"] == tool && line["level"] == "warning");
        of.map(|line| line["kind"].clone()).collect()
    };
    assert_eq!(rules("get_invoice"), Vec::<Value>::new());
    for rule in ["vague_name", "thin_description", "undescribed_arguments", "unchecked_write"] {
        assert!(rules("process_data").contains(&json!(rule)), "{rule}: {ran:?}");
    }
    assert!(rules("loop").contains(&json!("unportable_schema")), "{ran:?}");
    assert!(lines.iter().all(|line| line["fix"].as_str().unwrap().ends_with('.')));
    assert_eq!(world.on_mocks(&["tools", "lint", "--deny"]).code, Some(1));
    assert_eq!(world.on_mocks(&["tools", "lint", "--deny", "--route", "reading"]).code, Some(0));
    assert!(world.on_mocks(&["tools", "lint"]).out.contains("fix: "));
}
