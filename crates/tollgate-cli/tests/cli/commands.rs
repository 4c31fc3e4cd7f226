//! The built-in `shell`, through the real program.

use serde_json::{Value, json};

use crate::world::World;

const LINES: &str = include_str!("../../../tollgate-tools/tests/data/shell.jsonl");

#[test]
fn explain_calls_read_only_what_is_labelled_so_and_nothing_else() {
    let cases: Vec<Value> = LINES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = |case: &Value| {
        json!({"id": case["id"], "tool": "shell", "input": {"command": case["input"]}}).to_string()
    };
    let world = World::new();
    world.file("calls.jsonl", cases.iter().map(call).collect::<Vec<_>>().join("\n"));
    let ran = world.run(&["explain", "--jsonl", "calls.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), cases.len());
    let (mut wrong, mut over, mut harder) = (vec![], vec![], 0);
    for (case, told) in cases.iter().zip(&told) {
        assert_eq!(case["id"], told["id"]);
        match (case["label"] == "read_only", told["effects"]["read_only"] == true) {
            (false, true) => wrong.push(case),
            (true, false) if case["tier"] == "stretch" => harder += 1,
            (true, false) => over.push(case),
            _ => {}
        }
    }
    assert!(wrong.is_empty() && over.is_empty(), "unsafe {wrong:#?}\nasked for nothing {over:#?}");
    let all = cases.iter().filter(|case| case["tier"] == "stretch").count();
    assert!(harder * 3 <= all, "{harder} of {all}");
}

#[test]
fn what_only_reads_inside_the_roots_runs_without_a_rule_and_the_rest_does_not() {
    let world = World::new();
    world.file("a.txt", "inside\n");
    let read = world.run(&["explain", "shell", r#"{"command": "cat a.txt"}"#, "--json"]).json();
    let level = world.run(&["doctor", "--json"]).json()["sandbox"]["level"].clone();
    let expected = if level == "L1" { "ask" } else { "ok" };
    assert_eq!(read["status"], expected, "{read}");
    for command in ["rm a.txt", "cat a.txt > b.txt", "cat $X", "./a.txt"] {
        let input = json!({ "command": command }).to_string();
        let told = world.run(&["explain", "shell", &input, "--json"]).json();
        assert_eq!(told["status"], "ask", "{command}: {told}");
    }
    let outside = world.run(&["explain", "shell", r#"{"command": "cat /etc/passwd"}"#, "--json"]).json();
    assert_eq!((&outside["status"], &outside["code"]), (&json!("refused"), &json!("outside_roots")));
}

#[test]
fn the_readmes_commands_work_on_the_files_beside_them() {
    let world = World::new();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["tools.json", "turn.json", "schema.json"] {
        std::fs::copy(examples.join(name), world.path().join(name)).unwrap();
    }
    let read = |name: &str| std::fs::read_to_string(examples.join(name)).unwrap();
    let ran = world.run(&[
        "call",
        "read_file",
        r#"{"path":"a.txt"}"#,
        "--mocks",
        "tools.json",
        "--allow",
        "read_file",
    ]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "hello\n"), "{ran:?}");
    let write = r#"{"path":"a.txt","content":"x"}"#;
    let ran = world.run(&["explain", "write_file", write, "--mocks", "tools.json"]);
    assert!(ran.code == Some(0) && ran.out.contains("ask"), "{ran:?}");
    let turn = ["batch", "--format", "anthropic", "--mocks", "tools.json", "--allow", "*"];
    let ran = world.feed(&turn, read("turn.json"));
    assert!(ran.out.contains("hello") && ran.out.contains("there is no field"), "{ran:?}");
    assert_eq!(world.run(&["tools", "lint", "--mocks", "tools.json"]).code, Some(0));
    let ran =
        world.run(&["tools", "export", "--provider", "openai-chat", "--strict", "--mocks", "tools.json"]);
    assert!(ran.code == Some(0) && ran.json()[1]["function"]["strict"] == true, "{ran:?}");
    let ran = world.feed(&["schema", "flatten"], read("schema.json"));
    assert!(ran.code == Some(0) && !ran.out.contains("$ref"), "{ran:?}");
}

#[test]
fn a_question_names_every_part_that_no_rule_allows_and_not_the_harmless_one_alone() {
    let world = World::new();
    let asks = |command: &str| {
        let ran = world.run(&["explain", "shell", &json!({"command": command}).to_string(), "--json"]);
        ran.json()["reason"].as_str().unwrap_or_default().to_owned()
    };
    let reason = asks("git status; rm -rf x > y");
    assert_eq!(
        reason,
        "no rule allows the command `git status`, nor the command `rm -rf x`, nor writing \"y\""
    );
    let many = (0..9).map(|n| format!("touch {n}")).collect::<Vec<_>>().join("; ");
    assert!(asks(&many).ends_with("`touch 4`, nor 4 more"), "{}", asks(&many));
}
