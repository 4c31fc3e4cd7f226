use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, tools};

/// The result without what differs from run to run.
fn lasting(mut result: Value) -> Value {
    let map = result.as_object_mut().unwrap();
    assert!(map.remove("duration_ms").is_some_and(|ms| ms.is_f64()));
    assert!(map.remove("evidence_ref").is_some_and(|hash| hash.as_str().unwrap().starts_with("sha256:")));
    result
}

#[test]
fn the_json_of_a_result_is_the_plain_result_object() {
    let world = World::with(&tools(&[
        (
            "fine",
            json!({"answers": [{"ok": {"items": [{"type": "text", "text": "a"}, {"type": "json", "json": [1]}]}}]}),
        ),
        ("busy", json!({"answers": [{"retryable": {"message": "later", "retry_after_ms": 5}}]})),
    ]));
    let ran = world.allowed(&["call", "fine", "--json", "--id", "toolu_1"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.out.lines().count(), 1);
    assert_eq!(
        lasting(ran.json()),
        json!({"id": "toolu_1", "tool": "fine", "status": "ok",
            "output": [{"type": "text", "text": "a"}, {"type": "json", "json": [1]}],
            "was_concurrent": false, "attempts": 1, "trust": "untrusted_content"})
    );
    assert_eq!(
        lasting(world.allowed(&["call", "busy", "--json"]).json()),
        json!({"id": "call_1", "tool": "busy", "status": "retryable_error", "reason": "later", "retry_after_ms": 5,
            "was_concurrent": false, "attempts": 1, "trust": "untrusted_content"})
    );
    let ran = world.on_mocks(&["call", "fine", "--json", "--deny", "fine"]);
    assert_eq!(ran.code, Some(3));
    assert_eq!(
        lasting(ran.json()),
        json!({"id": "call_1", "tool": "fine", "status": "refused", "phase": "check", "code": "denied",
            "reason": "A call of `fine` like this is denied by the rule `deny fine`.",
            "hint": "Do it another way, or say what you would need and why.",
            "rule": {"text": "deny fine", "source": "--deny", "layer": "session"},
            "was_concurrent": false, "attempts": 0, "trust": "trusted_system"})
    );
}

#[test]
fn texts_are_printed_as_they_are_and_json_is_made_readable() {
    let items = json!([{"type": "text", "text": "line one\nline two"}, {"type": "json", "json": {"a": 1}},
        {"type": "image", "mime": "image/png", "data": "AAAA"}]);
    let world = World::with(&tools(&[("show", json!({"answers": [{"ok": {"items": items}}]}))]));
    let ran = world.allowed(&["call", "show"]);
    assert_eq!(
        ran.out,
        "line one\nline two\n{\n  \"a\": 1\n}\n[picture: image/png, 4 characters of base64]\n"
    );
}

#[test]
fn wrong_arguments_are_told_one_by_one_with_the_nearest_name() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"]});
    let world = World::with(&json!({"tools": [{"name": "read", "input_schema": schema}]}));
    let ran = world.allowed(&["call", "read", r#"{"pth": "a", "limit": "x"}"#]);
    assert_eq!(ran.code, Some(3));
    for said in [
        "refused at 1 validate: read\n",
        "  reason /pth: there is no field \"pth\"; did you mean \"path\"?\n",
        "  reason /limit: expected an integer, came the string \"x\"\n",
        "  reason the arguments: the required field \"path\" is missing\n",
        "  hint:  correct these fields; `tollgate tools show read` with the same --mocks shows them all.\n",
    ] {
        assert!(ran.err.contains(said), "{said}\n{ran:?}");
    }
}

#[test]
fn a_person_who_mistypes_a_tool_is_told_the_nearest_names_and_what_lists_them_and_a_program_the_models_words()
{
    let ran = World::new().run(&["call", "no_such_tool", "{}"]);
    assert_eq!(ran.code, Some(3));
    assert_eq!(
        ran.err,
        "refused at 0 resolve: no_such_tool\n  reason There is no tool \"no_such_tool\".\n  \
         hint:  `tollgate tools list` shows every name, `tollgate tools search WORDS` finds a tool by what it does.\n"
    );
    for command in ["call", "explain"] {
        let ran = World::new().run(&[command, "write_file", "{}"]);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("did you mean `write`? `tollgate tools list` shows every name."), "{said}");
        assert!(!said.contains("you were given"), "{said}");
    }
    let shown = World::new().run(&["tools", "show", "reed"]);
    assert!(shown.err.contains("hint: did you mean `read`? `tollgate tools list`"), "{shown:?}");
    let mocked = World::with(&tools(&[("look", json!({}))])).on_mocks(&["call", "lok", "{}"]);
    assert!(mocked.err.contains("`look`? `tollgate tools list` with the same --mocks shows"), "{mocked:?}");
    let ran = World::new().run(&["call", "no_such_tool", "{}", "--json"]);
    assert_eq!(ran.status(), ("refused".to_owned(), "unknown_tool".to_owned()));
    assert_eq!(ran.json()["hint"], "Use one of the tools you were given, by its exact name.");
    assert_eq!(ran.err, "");
}

#[test]
fn arguments_come_from_the_command_line_from_stdin_or_are_empty() {
    let world = World::with(&tools(&[("echo", json!({}))]));
    let output = |ran: crate::world::Ran| ran.json()["output"][0]["json"].clone();
    assert_eq!(output(world.allowed(&["call", "echo", "--json"])), json!({}));
    assert_eq!(output(world.allowed(&["call", "echo", r#"{"a":1}"#, "--json"])), json!({"a": 1}));
    let args = ["call", "echo", "-", "--json", "--mocks", "mocks.json", "--allow", "echo"];
    assert_eq!(output(world.feed(&args, " {\"b\": 2}\n")), json!({"b": 2}));
}

#[test]
fn a_tool_that_hangs_is_stopped_at_its_deadline() {
    let world = World::with(&tools(&[
        ("write", json!({"timeouts": {"total_ms": 100}, "answers": [{"hang": true}]})),
        (
            "read",
            json!({"timeouts": {"total_ms": 100}, "answers": [{"hang": true}],
            "effects": {"concurrency": "read_only", "read_only": true, "destructive": false, "idempotent": true,
                        "open_world": false}}),
        ),
    ]));
    for (tool, status) in [("write", "unknown"), ("read", "retryable_error")] {
        let began = Instant::now();
        let ran = world.allowed(&["call", tool, "--json"]);
        assert_eq!((ran.code, ran.status().0.as_str()), (Some(1), status), "{tool}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

#[test]
fn a_long_result_is_kept_whole_in_the_results_folder_and_shown_in_part() {
    let whole = "0123456789abcdef\n".repeat(300_000);
    let world =
        World::with(&tools(&[("dump", json!({"max_result_chars": 1000, "answers": [{"text": whole}]}))]));
    let folders = [
        (vec![], world.path().join(".local/share/tollgate/results")),
        (vec![("XDG_DATA_HOME", world.path().join("data"))], world.path().join("data/tollgate/results")),
        (vec![("TOLLGATE_HOME", world.path().join("home"))], world.path().join("home/results")),
    ];
    for (variables, folder) in folders {
        let args = ["call", "dump", "--mocks", "mocks.json", "--allow", "dump"];
        let ran: crate::world::Ran = world.command(&args).envs(variables).output().unwrap().into();
        assert_eq!(ran.code, Some(0));
        assert!(ran.out.len() < 3000, "{} characters were printed", ran.out.len());
        let said = ran.err.trim_end().strip_prefix("note: the whole result is kept in ").expect(&ran.err);
        let file = std::path::Path::new(said);
        assert_eq!(file.parent(), Some(&*folder));
        assert!(std::fs::read_to_string(file).unwrap() == whole);
    }
    let ran = world.allowed(&["call", "dump", "--json", "--results", "kept"]);
    let offloaded = &ran.json()["offloaded"];
    assert_eq!((&offloaded["chars"], &offloaded["lines"]), (&json!(5_100_000), &json!(300_000)));
    let kept = std::fs::read_dir(world.path().join("kept")).unwrap().flatten();
    let labels = |file: &std::fs::DirEntry| file.file_name().to_string_lossy().contains('.');
    assert_eq!(kept.filter(|file| !labels(file)).count(), 1);
}

#[test]
fn a_reader_that_went_away_ends_the_program_quietly() {
    let text = "x".repeat(1 << 20);
    let mocks = tools(&[("dump", json!({"max_result_chars": "unlimited", "answers": [{"text": text}]}))]);
    let world = World::with(&mocks);
    world.file("calls.jsonl", "{\"id\":\"a\",\"tool\":\"dump\",\"input\":{}}\n".repeat(20_000));
    let cases: [&[&str]; 4] = [
        &["call", "dump", "--allow", "*"],
        &["explain", "--jsonl", "calls.jsonl"],
        &["completions", "bash"],
        &["--help"],
    ];
    for args in cases {
        let mut child = world.command(&[args, &["--mocks", "mocks.json"]].concat()).spawn().unwrap();
        drop(child.stdout.take());
        let ran: crate::world::Ran = child.wait_with_output().unwrap().into();
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_path_outside_the_roots_is_refused_and_a_root_lets_it_in() {
    let touches = json!({"effects": {"concurrency": "read_only", "read_only": true, "destructive": false,
        "idempotent": true, "open_world": false, "touches": [{"path_from": "/path", "access": "read"}]}});
    let world = World::with(&tools(&[("read", touches)]));
    std::fs::create_dir_all(world.path().join("in")).unwrap();
    std::fs::create_dir_all(world.path().join("out")).unwrap();
    std::os::unix::fs::symlink(world.path().join("out"), world.path().join("link")).unwrap();
    let code = |path: &str, roots: &[&str]| {
        let input = json!({ "path": path }).to_string();
        world.allowed(&[&["call", "read", &input, "--json"], roots].concat()).status().1
    };
    assert_eq!(code("in/a", &[]), "");
    assert_eq!(code("../a", &[]), "outside_roots");
    assert_eq!(code("/etc/passwd", &[]), "outside_roots");
    // The current folder is outside this root, so that relative paths start from the root.
    assert_eq!(code("a", &["--root", "in"]), "");
    assert_eq!(code("../out/a", &["--root", "in"]), "outside_roots");
    let out = std::fs::canonicalize(world.path().join("out")).unwrap();
    assert_eq!(code(out.join("a").to_str().unwrap(), &["--root", "in", "--root", "link"]), "");
}

#[test]
fn a_route_and_a_caller_are_those_of_the_command_line() {
    let mut mocks = tools(&[("read", json!({})), ("write", json!({}))]);
    mocks["routes"] = json!({"reading": ["read"]});
    let world = World::with(&mocks);
    let code =
        |tool: &str, route: &str| world.allowed(&["call", tool, "--json", "--route", route]).status().1;
    assert_eq!(code("read", "reading"), "");
    assert_eq!(code("write", "reading"), "not_disclosed");
    assert_eq!(world.allowed(&["call", "read", "--caller", "sub-agent"]).code, Some(0));
}

#[test]
fn a_route_that_nobody_defined_is_a_slip_and_those_there_are_are_named() {
    let mut mocks = tools(&[("read", json!({}))]);
    mocks["routes"] = json!({"reading": ["read"], "writing": ["read"], "odd": 5});
    let world = World::with(&mocks);
    for command in
        [&["call", "read"][..], &["explain", "read"], &["tools", "list"], &["batch", "--format", "plain"]]
    {
        let ran = world.on_mocks(&[command, &["--route", "raeding"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{command:?} {ran:?}");
        let told = "error: there is no route \"raeding\"\nhint: did you mean `reading`? the routes are: reading, writing.\n";
        assert!(ran.err.ends_with(told), "{command:?} {ran:?}");
    }
    let odd = world.allowed(&["call", "read", "--route", "odd"]);
    assert!(odd.code == Some(2) && odd.err.contains("set aside from mocks.json: `odd` must be"), "{odd:?}");
    let none = World::new().run(&["call", "read_file", "--route", "x"]);
    assert!(none.code == Some(2) && none.err.contains("\nhint: leave --route out"), "{none:?}");
}

#[test]
fn a_reason_of_several_lines_keeps_them_below_each_other() {
    let world = World::with(&tools(&[("make", json!({"answers": [{"error": "first\nsecond"}]}))]));
    let ran = world.allowed(&["call", "make"]);
    assert!(
        ran.err.starts_with("fatal_error at 5 execute: make\n  reason first\n         second\n  hint:  "),
        "{ran:?}"
    );
}

#[test]
fn what_a_terminal_would_obey_is_made_visible_in_what_we_say() {
    let ran = World::new().run(&["call", "\u{1b}[31mred\u{202e}", "{}"]);
    assert!(ran.err.starts_with("refused at 0 resolve: \\u{1b}[31mred\\u{202e}\n"), "{ran:?}");
    assert!(!ran.err.contains('\u{1b}'));
}
