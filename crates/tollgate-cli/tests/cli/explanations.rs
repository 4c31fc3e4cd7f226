use serde_json::json;

use crate::{
    skipped::skipped,
    world::{World, tools},
};

fn world() -> World {
    let reading = json!({"concurrency": "read_only", "read_only": true, "destructive": false, "idempotent": true,
        "open_world": false, "touches": [{"path_from": "/path", "access": "read"}]});
    World::with(&tools(&[
        ("read", json!({"effects": reading, "answers": [{"panic": "it ran"}]})),
        ("shell", json!({})),
        ("get", json!({"origin": "mcp:web"})),
    ]))
}

#[test]
fn an_explanation_tells_phases_effects_decision_rule_and_reason() {
    let ran = world().on_mocks(&["explain", "read", r#"{"path": "a.txt"}"#, "--allow", "rea*"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.out,
        "read would run\n  \
         0 resolve    passes\n  \
         1 validate   passes\n  \
         2 check      passes\n  \
         3 before     passes: no hook looks at it\n  \
         4 permit     passes\n  \
         5 execute    would run\n  \
         effects      may run beside other reads; changes nothing, destroys nothing, may be repeated, stays inside\n  \
         touches      reads a.txt\n  \
         decision     allow\n  \
         rule         allow rea*   --allow\n"
    );
}

#[test]
fn a_call_that_would_ask_says_the_narrowest_rule_that_would_let_it_run() {
    let ran = world().on_mocks(&["explain", "web__get", "{}"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.starts_with("web__get would ask a person\n"), "{ran:?}");
    assert!(ran.out.contains("  4 permit     asks a person\n  5 execute    not reached\n"), "{ran:?}");
    assert!(ran.out.contains("  hint:        give --allow '@web/get"), "{ran:?}");
    let ran = world().on_mocks(&["explain", "web__get", "{}", "--allow", "@web/get", "--json"]);
    assert_eq!(ran.json()["status"], json!("ok"));
    let command = |command: &str| json!({ "command": command }).to_string();
    let ran = World::new().run(&["explain", "shell", &command("rm 'a b'")]);
    let rule = ran.out.split("give --allow ").nth(1).unwrap().split(" to let it run").next().unwrap();
    assert!(rule != "'shell'" && ran.out.ends_with("shell would let more run than this.\n"), "{ran:?}");
    // Below that no rule lets a command write where our own folders lie.
    if World::new().level() != "L3" {
        skipped("a rule for one command: no L3 here");
        return;
    }
    // As a shell would hand it over.
    let rule = rule.trim_matches('\'').replace(r"'\''", "'");
    for (run, status) in [("rm 'a b'", "ok"), ("rm c", "ask")] {
        let told = World::new().run(&["explain", "shell", &command(run), "--allow", &rule, "--json"]).json();
        assert_eq!(told["status"], status, "{rule}: {told}");
    }
}

#[test]
fn a_call_that_would_be_refused_says_where() {
    let ran = world().on_mocks(&["explain", "shell", r#"{"command": "ls"}"#, "--deny", "shell"]);
    assert!(ran.out.starts_with("shell would be refused\n"), "{ran:?}");
    assert!(ran.out.contains("  2 check      refuses: denied\n  3 before     not reached\n"), "{ran:?}");
    assert!(ran.out.contains("  rule         deny shell   --deny\n"), "{ran:?}");
}

#[test]
fn the_json_of_an_explanation_has_the_agreed_fields() {
    let args = ["explain", "read", r#"{"path": "a.txt"}"#, "--json", "--ask", "read"];
    let ran = world().on_mocks(&args);
    assert_eq!(
        ran.json(),
        json!({"id": "call_1", "tool": "read", "status": "ask", "phase": "permit", "code": "approval_required",
            "effects": {"concurrency": "read_only", "read_only": true, "destructive": false, "idempotent": true,
                "open_world": false, "touches": [{"path": "a.txt", "access": "read"}]},
            "decision": "ask", "rule": {"text": "ask read", "source": "--ask", "layer": "session"}})
    );
    let ran = world().on_mocks(&["explain", "nothing", "--json"]);
    assert_eq!(ran.status(), ("refused".to_owned(), "unknown_tool".to_owned()));
}

#[test]
fn explaining_runs_nothing() {
    // The body of `read` panics; an explanation never comes to it.
    let ran =
        world().on_mocks(&["explain", "read", r#"{"path": "a"}"#, "--allow", "*", "--json", "--events"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(ran.json()["status"], json!("ok"));
}

#[test]
fn a_tool_of_a_server_that_is_not_known_yet_is_told_with_what_makes_it_known() {
    let world = World::new();
    let folder = world.path().join(".config/tollgate");
    std::fs::create_dir_all(&folder).unwrap();
    let started = world.path().join("started");
    let script =
        world.file("up.sh", format!("touch {:?}\n", started.display().to_string())).display().to_string();
    let config = format!("[mcp.servers.up]\ncommand = [\"/bin/sh\", {script:?}]\n");
    std::fs::write(folder.join("tollgate.toml"), config).unwrap();
    world.file(".mcp.json", json!({"mcpServers": {"theirs": {"command": "/bin/true"}}}).to_string());
    for (tool, hint) in [
        ("@up/look", "`tollgate mcp check up`"),
        ("up__look", "`tollgate mcp check up`"),
        ("@theirs/look", "`tollgate trust"),
    ] {
        let one = world.run(&["explain", tool, "{}", "--json"]).json();
        assert_eq!((&one["status"], &one["code"]), (&json!("refused"), &json!("unknown_tool")), "{one}");
        assert!(one["hint"].as_str().unwrap().contains(hint), "{one}");
        let line = json!({"id": "1", "tool": tool.replace("@theirs/", "theirs__").replace("@up/", "up__"), "input": {}});
        let many = world.feed(&["explain", "--jsonl", "-"], line.to_string());
        assert!(many.lines()[0]["hint"].as_str().unwrap().contains(hint), "{many:?}");
    }
    assert!(!started.exists(), "nothing is started to explain a call");
}
