use serde_json::{Value, json};

use crate::world::{World, tools};

fn schema() -> Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
}

#[test]
fn tools_load_in_all_the_forms_they_come_in() {
    let function = json!({"name": "read", "description": "Reads.", "parameters": schema()});
    let forms = [
        ("ours", json!({"routes": {}, "tools": [{"name": "read", "input_schema": schema()}]})),
        (
            "mcp",
            json!({"tools": [{"name": "read", "inputSchema": schema(), "annotations": {"readOnlyHint": true}}]}),
        ),
        (
            "rpc",
            json!({"jsonrpc": "2.0", "id": 3, "result": {"tools": [{"name": "read", "inputSchema": schema()}]}}),
        ),
        ("anthropic", json!([{"name": "read", "description": "Reads.", "input_schema": schema()}])),
        ("chat", json!([{"type": "function", "function": function}])),
        ("responses", json!([{"type": "function", "name": "read", "parameters": schema(), "strict": false}])),
    ];
    for (form, file) in forms {
        let world = World::with(&file);
        let ran = world.allowed(&["call", "read", r#"{"path": "a"}"#, "--json"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{form}");
        assert_eq!(ran.json()["output"][0]["json"], json!({"path": "a"}), "{form}");
        // A hint of a server nobody vouches for makes nothing better.
        let explained = world.on_mocks(&["explain", "read", r#"{"path": "a"}"#, "--json"]).json();
        assert_eq!(explained["effects"]["concurrency"], json!("unsafe"), "{form}");
    }
}

#[test]
fn several_files_are_one_catalogue_and_the_first_to_have_a_name_keeps_it() {
    let world = World::with(&tools(&[("a", json!({"answers": [{"text": "first"}]}))]));
    let more = tools(&[("a", json!({"answers": [{"text": "second"}]})), ("b", json!({}))]);
    world.file("more.json", more.to_string());
    let run = |tool: &str| world.allowed(&["call", tool, "--mocks", "more.json"]);
    // `more.json` was named first on that command line.
    assert_eq!(run("a").out, "second\n");
    assert_eq!(run("a").err, "note: set aside from mocks.json: a: the name `a` is already taken by `a`\n");
    assert_eq!(run("b").code, Some(0));
}

#[test]
fn a_tool_that_cannot_be_used_is_named_and_the_rest_goes_on() {
    let world = World::with(&json!({"tools": [
        {"name": "bare"},
        {"name": "yes", "input_schema": true},
        {"name": "none", "inputSchema": null},
        {"name": "list", "parameters": []},
        5,
        {"name": "good", "input_schema": {"type": "object"}},
    ]}));
    let ran = world.allowed(&["call", "good", "{}"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "{}\n"));
    assert_eq!(
        ran.err,
        "note: set aside from mocks.json: bare: it has no schema of its arguments (`input_schema`, `inputSchema` or \
         `parameters`)\n\
         note: set aside from mocks.json: yes: the schema of the arguments must be an object schema, not true\n\
         note: set aside from mocks.json: none: the schema of the arguments must be an object schema, not null\n\
         note: set aside from mocks.json: list: the schema of the arguments must be an object schema, not []\n\
         note: set aside from mocks.json: tools[4]: it is a number, not an object\n"
    );
    let ran = world.allowed(&["call", "bare", "{}", "--json"]);
    assert_eq!(ran.status().1, "unknown_tool");
    assert!(ran.err.contains("set aside from mocks.json: bare: "), "{ran:?}");
}

#[test]
fn a_catalogue_full_of_bad_tools_does_not_flood_the_terminal() {
    let bad: Vec<_> = (0..500).map(|at| json!({"name": format!("t{at}")})).collect();
    let world = World::with(&json!({ "tools": bad }));
    let ran = world.allowed(&["call", "t1", "--json"]);
    assert_eq!(ran.err.lines().filter(|line| line.starts_with("note: set aside")).count(), 10);
    assert!(
        ran.err.contains("note: and 490 more; `tollgate doctor` with the same --mocks names them all.\n"),
        "{ran:?}"
    );
}

#[test]
fn a_file_that_is_no_catalogue_is_named_with_what_one_looks_like() {
    let world = World::new();
    for (content, said) in [
        ("{\"tools\": [", "it is not JSON: EOF while parsing a list at line 1 column 11"),
        (
            "{\"tool\": []}",
            "it has no list of tools: neither an array, nor an object with `tools` or `result.tools`",
        ),
    ] {
        world.file("mocks.json", content);
        let ran = world.on_mocks(&["call", "a", "{}"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
        assert!(
            ran.err.starts_with(&format!("error: the mocks file mocks.json cannot be used: {said}\nhint: ")),
            "{ran:?}"
        );
    }
    world.file("mocks.json", [b'[', 0xff, b']']);
    let ran = world.on_mocks(&["call", "a", "{}"]);
    assert!(
        ran.err.starts_with("error: the mocks file mocks.json is not UTF-8 text, at byte 1\nhint: "),
        "{ran:?}"
    );
}

#[test]
fn ten_thousand_tools_are_no_burden() {
    let many: Vec<_> =
        (0..10_000).map(|at| json!({"name": format!("tool_{at}"), "inputSchema": schema()})).collect();
    let world = World::with(&json!({ "tools": many }));
    let ran = world.allowed(&["call", "tool_9999", r#"{"path": "a"}"#]);
    assert_eq!(ran.code, Some(0));
    let ran = world.allowed(&["call", "tool_x9999", "{}"]);
    assert!(ran.err.contains("did you mean `tool_9999`?"), "{ran:?}");
}

#[test]
fn what_a_file_says_in_vain_is_told_and_no_tool_is_lost_to_it() {
    let pay = json!({"name": "pay", "description": 5, "input_schema": {"type": "object"},
        "effects": {"readonly": true, "idempotent": true, "cost": 1}});
    let file = json!({"routes": {"r": ["pay", "payy", "other", "@files/read"]}, "tools": [pay]});
    let world = World::with(&file);
    world.file(
        "more.json",
        tools(&[("other", json!({})), ("read", json!({"origin": "mcp:files"}))]).to_string(),
    );
    let ran = world.on_mocks(&["call", "pay", "--allow", "*", "--mocks", "more.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.err,
        "note: mocks.json: pay: its `description` is no text and counts as none\n\
         note: mocks.json: pay: `effects` has nothing called `readonly`; did you mean `read_only`?\n\
         note: mocks.json: pay: `effects` has nothing called `cost`\n\
         note: mocks.json: the route `r` names `payy`, which no mocks file has\n"
    );
    let advice = world.on_mocks(&["doctor", "--json", "--mocks", "more.json"]).json()["advice"].clone();
    assert!(advice.to_string().contains("mocks.json: pay: `effects` has nothing called `cost`."), "{advice}");
    let wrapped = json!({"result": {"tools": [{"name": "pay", "inputSchema": {"type": "object"}, "effects": {"x": 1}}]}});
    world.file("mocks.json", wrapped.to_string());
    assert!(world.on_mocks(&["explain", "pay"]).err.contains("nothing called `x`"));
    world.file(
        "mocks.json",
        json!([{"type": "function", "function": {"name": "pay", "description": []}}]).to_string(),
    );
    assert!(world.on_mocks(&["tools", "list"]).err.contains("`description` is no text"));
}

#[test]
fn whoever_calls_a_tool_that_was_set_aside_is_told_so() {
    let why = "it has no schema of its arguments (`input_schema`, `inputSchema` or `parameters`)";
    let hint = format!("\n  hint:  it was set aside from mocks.json: {why}; put that right.\n");
    for more in [&[][..], &[json!({"name": "good", "input_schema": {"type": "object"}})]] {
        let tools = [&[json!({"name": "bare"})], more].concat();
        let world = World::with(&json!({ "tools": tools }));
        let ran = world.allowed(&["call", "bare"]);
        assert!(ran.code == Some(3) && ran.err.ends_with(&hint), "{ran:?}");
        let explained = world.allowed(&["explain", "bare"]);
        assert!(explained.out.contains("it was set aside from mocks.json"), "{explained:?}");
    }
    let world = World::with(&json!({"tools": [{"name": "bare"}]}));
    let ran = world.allowed(&["call", "other"]);
    assert!(ran.err.ends_with("  hint:  no tools are loaded: put right what was set aside.\n"), "{ran:?}");
    let ran = world.on_mocks(&["call", "other", "--json"]);
    assert!(ran.err.ends_with("note: no tools are loaded: put right what was set aside.\n"), "{ran:?}");
}

#[test]
fn the_example_of_the_docs_does_what_they_say() {
    let page = include_str!("../../../../docs/mocks.md");
    let block = |after: &str| {
        let (_, rest) = page.split_once(after).unwrap();
        let (block, _) = rest.split_once("\n```").unwrap();
        block.to_owned()
    };
    let world = World::new();
    world.file("mocks.json", block("```json\n"));
    let ran = world.on_mocks(&["tools", "list", "--json"]);
    assert_eq!((ran.code, ran.err.as_str(), ran.lines().len()), (Some(0), "", 6), "{ran:?}");
    // Each line is a command, `#`, and what it answers.
    for line in block("```sh\n").lines() {
        let (command, told) = line.split_once(" # ").unwrap();
        let command = command.trim().strip_prefix("tollgate ").unwrap();
        let words: Vec<_> = command.splitn(3, ' ').map(|word| word.trim_matches('\'')).collect();
        let ran = world.allowed(&words);
        let said = format!("{}{}", ran.out, ran.err);
        let (code, told) = told.split_once(": ").unwrap();
        assert_eq!(ran.code.map(|code| code.to_string()).as_deref(), Some(code), "{line} {ran:?}");
        assert!(said.contains(told), "{line} {ran:?}");
    }
    let routed = world.allowed(&["call", "deploy", "{}", "--route", "reading", "--json"]);
    assert_eq!(routed.status().1, "not_disclosed", "{routed:?}");
}
