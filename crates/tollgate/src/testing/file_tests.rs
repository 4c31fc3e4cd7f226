use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{BadMocks, Mocks, Why};
use crate::{
    Registry, Tollgate,
    outcome::RefusalCode,
    policy::Rules,
    schema::BadSchema,
    testing::answer_tests::World,
    tool::{BadName, Interrupt, OnFatal, Origin, ResultLimit, Route, ToolSpec, Visibility},
};

fn schema() -> Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
}

fn load(file: &Value) -> (Vec<ToolSpec>, Vec<(String, Why)>) {
    let (registry, aside) = Mocks::parse(&file.to_string()).unwrap().register(Registry::new());
    (registry.specs().cloned().collect(), aside.into_iter().map(|one| (one.what, one.why)).collect())
}

fn one(tool: &Value) -> ToolSpec {
    let (mut tools, aside) = load(&json!({ "tools": [tool] }));
    assert_eq!(aside, [], "{tool}");
    tools.remove(0)
}

fn why(tool: &Value) -> Why {
    let (tools, mut aside) = load(&json!({ "tools": [tool] }));
    assert!(tools.is_empty(), "{tool} should not load");
    aside.remove(0).1
}

#[test]
fn every_form_a_list_of_tools_comes_in_loads_as_it_is() {
    let mcp = json!({"name": "read", "title": "Read", "description": "Reads.", "inputSchema": schema(),
        "annotations": {"readOnlyHint": true}, "_meta": {"a": 1}, "icons": [], "execution": {"taskSupport": "x"}});
    let anthropic = json!({"name": "read", "description": "Reads.", "input_schema": schema(),
        "cache_control": {"type": "ephemeral"}});
    let function = json!({"name": "read", "description": "Reads.", "parameters": schema(), "strict": true});
    let flat = json!({"type": "function", "name": "read", "description": "Reads.", "parameters": schema()});
    let forms = [
        json!({"tools": [mcp]}),
        json!({"result": {"tools": [mcp], "nextCursor": "x"}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [mcp]}}),
        json!({"server": "fs", "initialize": {}, "tools": [mcp]}),
        json!([anthropic]),
        json!([{"type": "function", "function": function}]),
        json!([flat]),
        json!({"routes": {}, "tools": [anthropic]}),
    ];
    for form in forms {
        let (tools, aside) = load(&form);
        assert_eq!(aside, [], "{form}");
        let [tool] = &tools[..] else { panic!("{form}") };
        let read = (tool.name(), &*tool.description, &*tool.input_schema, &tool.id.origin);
        assert_eq!(read, ("read", "Reads.", &schema(), &Origin::Builtin), "{form}");
    }
}

#[test]
fn a_function_of_openai_may_leave_its_schema_out_and_then_takes_no_arguments() {
    for parameters in [json!({}), json!({"parameters": null})] {
        let mut tool = json!({"type": "function", "name": "now"});
        tool.as_object_mut().unwrap().extend(parameters.as_object().unwrap().clone());
        assert_eq!(one(&tool).input_schema, json!({"type": "object", "properties": {}}));
    }
}

#[test]
fn a_file_without_a_list_of_tools_is_an_error_that_says_so() {
    for text in ["{}", "3", "null", "\"tools\"", r#"{"tools": {}}"#, r#"{"result": []}"#] {
        assert_eq!(Mocks::parse(text).unwrap_err(), BadMocks::NoTools, "{text}");
    }
    for text in ["", "{", "[1,", "{\"tools\": NaN}", &"[".repeat(10_000)] {
        assert!(matches!(Mocks::parse(text).unwrap_err(), BadMocks::NotJson(_)), "{text:.20}");
    }
    assert!(Mocks::parse("\u{feff}[]").unwrap().is_empty());
}

#[test]
fn one_bad_tool_is_set_aside_by_name_or_place_and_the_rest_loads() {
    let file = json!({"tools": [
        {"name": "good", "input_schema": schema()},
        7,
        {"name": "bare"},
        {"input_schema": schema()},
        {"name": "", "input_schema": schema()},
        {"name": "a b", "input_schema": schema()},
        {"name": "x".repeat(200), "input_schema": schema()},
        {"name": "yes", "input_schema": true},
        {"name": "none", "inputSchema": null},
        {"name": "list", "parameters": []},
        {"name": "text", "input_schema": {"type": "string"}},
        {"name": "loop", "input_schema": {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}},
        {"name": "good", "input_schema": schema()},
        {"name": "other", "aliases": ["good"], "input_schema": schema()},
        {"name": "last", "input_schema": schema()},
    ]});
    let (tools, aside) = load(&file);
    assert_eq!(tools.iter().map(ToolSpec::name).collect::<Vec<_>>(), ["good", "last"]);
    let not_an_object = |text: &str| Why::Schema(BadSchema::NotAnObject(text.to_owned()));
    let taken = Why::Taken { name: "good".to_owned(), by: "good".to_owned() };
    let long = format!("{}… (200 characters)", "x".repeat(80));
    let expected = [
        ("tools[1]", Why::NotAnObject("a number")),
        ("bare", Why::NoSchema),
        ("tools[3]", Why::NoName),
        ("tools[4]", Why::Name(BadName::Empty)),
        ("a b", Why::Name(BadName::Character(' '))),
        (&long, Why::Name(BadName::TooLong(200))),
        ("yes", not_an_object("true")),
        ("none", not_an_object("null")),
        ("list", not_an_object("[]")),
        ("text", not_an_object("type \"string\"")),
        ("loop", Why::Schema(BadSchema::Endless("#/properties/a".to_owned()))),
        ("good", taken.clone()),
        ("other", taken),
    ];
    assert_eq!(aside.len(), expected.len());
    for (expected, why) in expected {
        assert!(aside.contains(&(expected.to_owned(), why.clone())), "{expected}: {why}\n{aside:#?}");
    }
}

#[test]
fn every_declaration_of_a_spec_is_honoured() {
    let spec = one(&json!({
        "name": "pay", "description": "Pays.", "input_schema": schema(), "output_schema": {"type": "object"},
        "aliases": ["transfer"], "owner": "billing", "capability": "payments.write",
        "max_result_chars": 100, "timeouts": {"connect_ms": 1, "idle_ms": 2, "total_ms": 3},
        "interrupt": "cancel", "requires_interaction": true, "requires_permission": false,
        "requires_idempotency_key": true, "visibility": "deferred", "explicit_only": true,
        "on_fatal": "stop_siblings", "retry": 4,
    }));
    assert_eq!(spec.aliases[0].as_str(), "transfer");
    assert_eq!(
        (spec.owner.as_deref(), spec.capability.as_deref()),
        (Some("billing"), Some("payments.write"))
    );
    assert_eq!((spec.max_result, spec.interrupt), (ResultLimit::Chars(100), Interrupt::Cancel));
    let millis = Duration::from_millis;
    let times = (spec.timeouts.connect, spec.timeouts.idle, spec.timeouts.total);
    assert_eq!(times, (Some(millis(1)), Some(millis(2)), millis(3)));
    assert_eq!(
        (spec.visibility, spec.on_fatal, spec.retry.attempts),
        (Visibility::Deferred, OnFatal::StopSiblings, 4)
    );
    assert!(spec.requires_interaction && spec.requires_idempotency_key && spec.explicit_only);
    assert!(!spec.requires_permission);
    assert_eq!(spec.output_schema, Some(json!({"type": "object"})));
    let unlimited = one(&json!({"name": "a", "input_schema": schema(), "max_result_chars": "unlimited"}));
    assert_eq!(unlimited.max_result, ResultLimit::Unlimited);
}

#[test]
fn what_is_not_declared_or_null_keeps_the_default_of_every_tool() {
    let nulls =
        ["aliases", "owner", "timeouts", "retry", "effects", "check", "answers", "outputSchema", "origin"];
    let mut tool = json!({"name": "a", "input_schema": schema()});
    for key in nulls {
        tool[key] = Value::Null;
    }
    let plain = ToolSpec::new("a", "", schema()).unwrap();
    assert_eq!(format!("{:?}", one(&tool)), format!("{plain:?}"));
}

#[test]
fn an_origin_is_a_server_with_or_without_its_prefix_and_its_aliases_do_not_count() {
    for origin in ["mcp:fs", "fs"] {
        let spec =
            one(&json!({"name": "read", "origin": origin, "aliases": ["cat"], "input_schema": schema()}));
        assert_eq!(spec.id.to_string(), "@fs/read");
        assert!(spec.aliases.is_empty());
    }
    let spec = one(&json!({"name": "read", "origin": "builtin", "input_schema": schema()}));
    assert_eq!(spec.id.origin, Origin::Builtin);
}

#[test]
fn a_declaration_that_cannot_be_read_sets_its_tool_aside_with_the_place() {
    let cases = [
        (json!({"retry": 0}), "`retry` must be how often it is tried in all, from 1 on, not 0"),
        (json!({"enabled": "yes"}), "`enabled` must be true or false, not \"yes\""),
        (json!({"interrupt": "stop"}), "`interrupt` must be one of \"cancel\", \"block\", not \"stop\""),
        (json!({"timeouts": 5}), "`timeouts` must be an object, not a number"),
        (json!({"timeouts": {"idle_ms": -1}}), "`timeouts.idle_ms` must be a whole number from 0 on, not -1"),
        (
            json!({"max_result_chars": "all"}),
            "`max_result_chars` must be a whole number or \"unlimited\", not \"all\"",
        ),
        (
            json!({"origin": "mcp:"}),
            "`origin` must be \"builtin\" or the name of a server, as \"mcp:files\", not \"mcp:\"",
        ),
        (
            json!({"effects": {"concurrency": "safe"}}),
            "`effects.concurrency` must be one of \"read_only\", \"write_exclusive\", \"unsafe\", not \"safe\"",
        ),
        (
            json!({"effects": {"touches": [{}]}}),
            "`effects.touches` needs `path`, `host`, `command` or `key`, and none taken from the arguments",
        ),
        (
            json!({"effects": {"touches": [{"path_from": "path"}]}}),
            "`effects.touches.path_from` must be a JSON pointer, as `/path`, not \"path\"",
        ),
        (
            json!({"check": [{"pointer": "/a"}]}),
            "`check[0]` needs exactly one of `matches` and `not_matches`",
        ),
        (
            json!({"check": [{"pointer": "/a", "matches": "("}]}),
            "the pattern of `check[0]` cannot be used: unclosed group",
        ),
        (
            json!({"answers": [{"ok": 1, "error": "x"}]}),
            "`answers[0]` needs a single end: it says both `ok` and `error`",
        ),
        (
            json!({"answers": [{"txet": "x"}]}),
            "`answers[0]` needs an end: \"txet\" is none of ok, text, error, fatal, retryable, unknown, refuse, panic, hang",
        ),
        (json!({"answers": [{"when": 3}]}), "`answers[0].when` must be an object, not 3"),
        (
            json!({"answers": [{"error": 3}]}),
            "`answers[0].error` must be a text or an object with a `message`, not 3",
        ),
    ];
    for (declaration, expected) in cases {
        let mut tool = json!({"name": "a", "input_schema": schema()});
        tool.as_object_mut().unwrap().extend(declaration.as_object().unwrap().clone());
        assert_eq!(why(&tool).to_string(), expected);
    }
}

#[tokio::test]
async fn a_route_exposes_its_tools_and_one_that_cannot_be_read_exposes_nothing() {
    let file = json!({"routes": {"reading": ["read"], "broken": 5},
        "tools": [{"name": "read", "input_schema": {}}, {"name": "write", "input_schema": {}}]});
    let mocks = Mocks::parse(&file.to_string()).unwrap();
    assert_eq!(mocks.routes().map(Route::as_str).collect::<Vec<_>>(), ["reading"]);
    let (registry, aside) = mocks.register(Registry::new());
    assert_eq!(aside.len(), 1);
    assert_eq!(aside[0].to_string(), "route broken: `broken` must be a list of texts, not 5");
    let world = World::of(Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build());
    for (route, tool, code) in [
        ("reading", "read", None),
        ("reading", "write", Some(RefusalCode::NotDisclosed)),
        ("broken", "read", Some(RefusalCode::NotDisclosed)),
    ] {
        let settled = world.on(route).call(tool, json!({})).await;
        assert_eq!(settled.refusal().map(|refusal| refusal.code), code, "{route} {tool}");
    }
}

#[test]
fn only_the_tools_that_answer_to_a_name_are_kept() {
    let file = json!({"tools": [
        {"name": "a", "aliases": ["x"], "input_schema": {}},
        {"name": "b", "input_schema": {"type": "string"}},
        {"name": "c", "origin": "fs", "input_schema": {}},
        {"name": "bad"},
    ]});
    let mocks = || Mocks::parse(&file.to_string()).unwrap();
    for (name, found) in [("a", 1), ("x", 1), ("fs__c", 1), ("c", 0), ("b", 1), ("bad", 0)] {
        assert_eq!(mocks().only(name).len(), found, "{name}");
    }
    // The other schemas are not even looked at; what was wrong without them is still told.
    let (_, aside) = mocks().only("a").register(Registry::new());
    assert_eq!(aside.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(), ["bad"]);
}

#[test]
fn loading_takes_time_in_proportion_to_the_tools() {
    let file = |count: usize| {
        let tools: Vec<_> = (0..count)
            .map(
                |at| json!({"name": format!("tool_{}", at % (count - count / 10)), "input_schema": schema()}),
            )
            .collect();
        json!({ "tools": tools }).to_string()
    };
    let time = |count: usize| {
        let text = file(count);
        let began = Instant::now();
        let (registry, aside) = Mocks::parse(&text).unwrap().register(Registry::new());
        assert_eq!((registry.specs().count(), aside.len()), (count - count / 10, count / 10));
        began.elapsed()
    };
    let (small, large) = (time(500), time(5_000));
    // Ten times the tools; a quadratic loader would take a hundred times as long.
    assert!(large < small * 40, "{small:?} for 500 and {large:?} for 5,000");
}
