use serde_json::json;

use crate::world::{Ran, World, tools};

fn world() -> World {
    let reads = |access: &str| {
        json!({"concurrency": if access == "read" { "read_only" } else { "write_exclusive" }, "read_only": access == "read",
            "destructive": false, "open_world": false, "touches": [{"path_from": "/path", "access": access}]})
    };
    let push = json!({"touches": [{"command": ["git", "push", "origin"]}]});
    let status = json!({"touches": [{"command": ["git", "status"]}]});
    World::with(&tools(&[
        ("see", json!({"effects": reads("read")})),
        ("edit", json!({"effects": reads("write")})),
        ("push", json!({"effects": push})),
        ("status", json!({"effects": status})),
        ("get", json!({"origin": "mcp:web"})),
    ]))
}

const FILE: &str = r#"[policy]
allow = ["read(./**)", "shell(git status *)"]
ask = ["write(./**)"]
deny = ["read(**/.env)"]

[[policy.rule]]
do = "deny"
tool = "shell(git push *)"
reason = "Releases go through the pipeline."
matches = ["git push origin main"]
misses = ["git pull"]
"#;

impl World {
    fn code(&self, tool: &str, path: &str, more: &[&str]) -> Option<i32> {
        let input = json!({ "path": path }).to_string();
        self.on_mocks(&[&["call", tool, &input], more].concat()).code
    }
}

#[test]
fn a_projects_file_tightens_at_once_and_widens_once_it_is_trusted() {
    let world = world();
    world.file("tollgate.toml", FILE);
    assert_eq!(world.code("see", "a", &[]), Some(4));
    assert_eq!(world.code("see", ".env", &["--allow", "*"]), Some(3));
    let ran = world.on_mocks(&["explain", "see", r#"{"path": "a"}"#]);
    assert!(
        ran.err.contains("tollgate.toml is not trusted: 2 of its rules do nothing until `tollgate trust`."),
        "{ran:?}"
    );
    let ran = world.run(&["trust"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("allow read(./**)") && !ran.out.contains("deny"), "{ran:?}");
    assert_eq!((world.code("see", "a", &[]), world.code("status", "", &[])), (Some(0), Some(0)));
    world.file("tollgate.toml", FILE.replace("git status", "git *"));
    assert_eq!(world.code("see", "a", &[]), Some(4));
    assert!(
        world
            .run(&["policy", "show"])
            .out
            .contains("(changed since it was trusted: what it would widen is inert)")
    );
    world.run(&["trust"]);
    assert_eq!(world.run(&["trust", "--forget"]).code, Some(0));
    assert_eq!(world.code("see", "a", &[]), Some(4));
}

#[test]
fn a_refusal_names_the_rule_with_its_file_and_line_and_its_reason() {
    let world = world();
    world.file("tollgate.toml", FILE);
    let ran = world.on_mocks(&["call", "push", "{}", "--allow", "*"]);
    assert_eq!(ran.code, Some(3));
    let place = world.path().canonicalize().unwrap().join("tollgate.toml");
    assert!(ran.err.contains(&format!("rule   deny shell(git push *)   {}:6", place.display())), "{ran:?}");
    assert!(ran.err.contains("Releases go through the pipeline."), "{ran:?}");
}

#[test]
fn the_persons_own_file_needs_no_trust_and_no_config_reads_neither() {
    let world = world();
    std::fs::create_dir_all(world.path().join(".config/tollgate")).unwrap();
    world.file(".config/tollgate/tollgate.toml", "[policy]\nallow = [\"see\"]\nask = [\"edit\"]\n");
    assert_eq!(world.code("see", "a", &[]), Some(0));
    assert_eq!(world.code("edit", "a", &["--allow", "edit"]), Some(0), "what is granted here beats an ask");
    assert_eq!(world.code("see", "a", &["--no-config"]), Some(4));
}

#[test]
fn a_bad_file_is_2_with_its_place_and_nothing_runs() {
    let world = world();
    world.file("tollgate.toml", "[policy]\nallow = [\"see\"]\ndenny = []\n");
    for args in
        [&["call", "see", "{}"][..], &["explain", "see", "{}"], &["policy", "show"], &["tools", "list"]]
    {
        let ran = world.on_mocks(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?} {ran:?}");
        assert!(ran.err.contains("tollgate.toml:3:1: `denny` is no key of [policy]"), "{ran:?}");
        assert!(ran.err.ends_with("hint: did you mean `deny`?\n"), "{ran:?}");
    }
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("tollgate.toml:3:1"), "{ran:?}");
}

#[test]
fn our_own_files_are_refused_to_every_tool_whatever_is_allowed() {
    let world = world();
    let home = world.path().canonicalize().unwrap();
    let own = [
        "tollgate.toml".to_owned(),
        "sub/../TollGate.toml".to_owned(),
        ".config/tollgate/tollgate.toml".to_owned(),
        home.join(".local/share/tollgate/trust.json").display().to_string(),
        ".local/share/tollgate/not/yet/there".to_owned(),
    ];
    for path in own {
        for tool in ["see", "edit"] {
            let input = json!({ "path": path }).to_string();
            let ran = world.allowed(&["call", tool, &input, "--json"]);
            assert_eq!(ran.status(), ("refused".to_owned(), "protected_path".to_owned()), "{path} {ran:?}");
        }
    }
}

#[test]
fn what_holds_secrets_or_makes_code_run_asks_unless_a_rule_names_it() {
    let world = world();
    assert_eq!(world.code("see", ".env", &["--allow", "*"]), Some(4));
    assert_eq!(world.code("see", ".env", &["--allow", "read(./.env)"]), Some(0));
    assert_eq!(world.code("edit", ".git/config", &["--allow", "*"]), Some(4));
    assert_eq!(world.code("see", ".git/config", &["--allow", "*"]), Some(0));
}

#[test]
fn an_explanation_tells_the_rules_that_would_let_the_call_run_the_narrowest_first() {
    let ran = world().on_mocks(&["explain", "edit", r#"{"path": "src/a.rs"}"#]);
    let would: Vec<_> = ran.out.lines().filter(|line| line.starts_with("  would do")).collect();
    assert_eq!(
        would,
        [
            "  would do     allow edit(path=\"src/a.rs\", only)   (exactly this call)",
            "  would do     allow edit(path in ./src)   (edit in ./src)",
        ],
        "{ran:?}"
    );
    let ran = world().on_mocks(&["explain", "push", "{}"]);
    assert!(ran.out.contains("allow shell(git push origin)   (exactly this command)"), "{ran:?}");
    assert!(ran.out.contains("allow shell(git push *)   (`git push` with any further words)"), "{ran:?}");
}

#[test]
fn several_calls_are_explained_with_the_plan_of_their_batches() {
    let (see, edit) = (r#"{"path": "a"}"#, r#"{"path": "b"}"#);
    let ran = world().on_mocks(&["explain", "see", see, "see", see, "edit", edit, "see", see]);
    assert!(
        ran.out.ends_with(
            "plan\n  batch 1      call_1, call_2 together\n  batch 2      call_3 alone\n  batch 3      call_4 alone\n"
        ),
        "{ran:?}"
    );
    let lines = ["see", "see", "edit", "see"]
        .map(|tool| json!({"id": "x", "tool": tool, "input": {"path": "a"}}).to_string());
    let ran = world().feed(&["explain", "--jsonl", "--mocks", "mocks.json"], lines.join("\n"));
    let batches: Vec<_> = ran.lines().iter().map(|line| line["batch"].as_u64()).collect();
    assert_eq!(batches, [Some(1), Some(1), Some(2), Some(3)]);
    assert_eq!(world().on_mocks(&["explain", "see", see, "edit"]).code, Some(2));
}

#[test]
fn show_tells_every_rule_by_layer_and_what_is_inert() {
    let world = world();
    world.file("tollgate.toml", FILE);
    let ran = world.run(&["policy", "show", "--deny", "x", "--json"]);
    let lines = ran.lines();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["text"].as_str().unwrap(),
                line["layer"].as_str().unwrap(),
                line["in_force"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("deny read(**/.env)", "project", true),
            ("ask write(./**)", "project", true),
            ("deny shell(git push *)", "project", true),
            ("deny x", "session", true),
            ("allow read(./**)", "project", false),
            ("allow shell(git status *)", "project", false),
        ]
    );
    assert_eq!(lines[2]["reason"], json!("Releases go through the pipeline."));
    let ran = world.run(&["policy", "show"]);
    assert!(
        ran.out.contains("  inert allow read(./**)") && ran.out.ends_with("puts what is inert in force.\n"),
        "{ran:?}"
    );
}

const CASES: &str = r#"
[[case]]
name = "reading"
read = "src/a.rs"
expect = "allow"
rule = "allow read(./**)"
layer = "project"
[[case]]
command = "git push origin main"
expect = "deny"
[[case]]
tool = "see"
input = { path = "b" }
expect = "allow"
[[case]]
tool = "web__get"
expect = "ask"
"#;

#[test]
fn cases_that_are_decided_as_they_say_are_0_and_one_that_is_not_is_1() {
    let world = world();
    world.file("tollgate.toml", FILE);
    world.run(&["trust"]);
    world.file("cases.toml", CASES);
    let test = |more: &[&str]| -> Ran { world.on_mocks(&[&["policy", "test", "cases.toml"], more].concat()) };
    let ran = test(&[]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (Some(0), "4 of 4 cases are decided as they should be.\n"),
        "{ran:?}"
    );
    let ran = test(&["--deny", "see"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.out.contains("wrong 3: deny   deny see   --deny\n        it should be allow and is deny"),
        "{ran:?}"
    );
    for bad in [
        "[[case]]\nexpect = \"maybe\"",
        "[[case]]\nexpect = \"ask\"",
        "[[case]]\nexpect = \"ask\"\ntol = 1",
        "",
        "[",
    ] {
        world.file("cases.toml", bad);
        let ran = test(&[]);
        assert_eq!(ran.code, Some(2), "{bad} {ran:?}");
        assert!(ran.err.lines().last().unwrap().starts_with("hint: "), "{ran:?}");
    }
}

#[test]
fn a_command_of_a_case_is_read_as_the_shell_tool_reads_it() {
    let case =
        |command: &str, expect: &str| format!("[[case]]\ncommand = {command:?}\nexpect = \"{expect}\"\n");
    let world = World::new();
    let cases = [
        case("git status | head -5", "allow"),
        case("git status && rm -rf build", "ask"),
        case("cat 'a b.txt'; git push origin", "deny"),
        case("echo 'git push'", "allow"),
    ];
    world.file("cases.toml", cases.concat());
    let ran = world.run(&["policy", "test", "cases.toml", "--deny", "shell(git push *)"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn lint_names_rules_that_mean_nothing_are_idle_or_wider_than_they_look() {
    let world = world();
    let rules = [
        "--allow",
        "get",
        "--allow",
        "shell(python *)",
        "--allow",
        "edit",
        "--deny",
        "edit",
        "--ask",
        "see",
        "--deny",
        "wirte",
    ];
    let ran = world.on_mocks(&[&["policy", "lint", "--json"], &rules[..]].concat());
    let found: Vec<_> = ran
        .lines()
        .iter()
        .map(|line| format!("{} {}", line["kind"].as_str().unwrap(), line["rule"]["text"].as_str().unwrap()))
        .collect();
    for wanted in [
        "no_tool allow get",
        "wide allow shell(python *)",
        "shadowed allow edit",
        "headless ask see",
        "no_tool deny wirte",
    ] {
        assert!(found.iter().any(|line| line == wanted), "{wanted} in {found:?}");
    }
    assert_eq!(world.on_mocks(&["policy", "lint", "--strict", "--deny", "wirte"]).code, Some(1));
    assert_eq!(world.on_mocks(&["policy", "lint", "--strict", "--deny", "edit"]).code, Some(0));
}

#[test]
fn init_writes_a_file_that_loads_widens_nothing_by_itself_and_is_never_written_over() {
    let world = world();
    world.file("Cargo.toml", "");
    world.file(".mcp.json", "{}");
    let ran = world.run(&["init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(world.path().join("tollgate.toml")).unwrap();
    assert!(text.contains("shell(cargo test *)") && text.contains("# .mcp.json lists MCP servers"), "{text}");
    assert_eq!(world.code("see", "a", &[]), Some(4), "nothing is allowed before it is trusted");
    assert_eq!(world.run(&["trust"]).code, Some(0));
    assert_eq!(world.code("see", "a", &[]), Some(0));
    assert_eq!((world.run(&["init"]).code, world.run(&["init", "--print"]).code), (Some(2), Some(0)));
    assert_eq!(std::fs::read_to_string(world.path().join("tollgate.toml")).unwrap(), text);
}

#[test]
fn the_rule_a_refusal_names_lets_even_a_protected_file_be_read() {
    let world = World::new();
    world.file(".env", "KEY=1\n");
    let call = ["call", "read_file", r#"{"path":".env"}"#];
    let refused = world.run(&call);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let rule = refused.err.split("give --allow '").nth(1).unwrap().split("' to let it run").next().unwrap();
    assert_ne!(rule, "read_file", "the tool's name alone is not enough for what is protected");
    let ran = world.run(&[&call[..], &["--allow", rule]].concat());
    assert_eq!(ran.code, Some(0), "{rule} {ran:?}");
}

#[test]
fn a_search_of_a_folder_leaves_out_what_a_rule_keeps_from_being_read() {
    let world = World::new();
    world.file("open.txt", "needle\n");
    world.file("private.txt", "needle\n");
    let call = ["call", "grep", r#"{"pattern":"needle"}"#];
    let all = world.run(&call);
    assert!(all.out.contains("private.txt"), "{all:?}");
    for rule in ["--deny", "--ask"] {
        let ran = world.run(&[&call[..], &[rule, "read(**/private.txt)"]].concat());
        assert!(ran.out.contains("open.txt") && !ran.out.contains("private.txt"), "{rule} {ran:?}");
        assert!(ran.out.contains("1 file not searched"), "{rule} {ran:?}");
    }
    // Whoever says yes to every search, or is asked about each, has not asked for single files.
    let ran = world.run(&[&call[..], &["--allow", "grep"]].concat());
    assert!(ran.out.contains("private.txt"), "{ran:?}");
}

#[test]
fn a_deny_is_not_side_stepped_by_a_word_over_two_lines_or_by_words_that_are_files_after_all() {
    let world = World::new();
    for (rule, command) in [
        ("shell(git push *)", "gi\\\nt push"),
        ("shell(git push *)", "git pu\\\nsh"),
        ("shell(rm *)", "r\\\nm x"),
        ("read(./secret/**)", "jq -R . secret/key --args"),
        ("read(./secret/**)", "jq -Rn input secret/key --jsonargs"),
        ("read(./secret/**)", "pr -d secret/key"),
    ] {
        let input = json!({"command": command}).to_string();
        let ran = world.run(&["explain", "shell", &input, "--deny", rule, "--allow", "shell", "--json"]);
        assert_ne!(ran.json()["decision"], "allow", "{command:?} under {rule}: {ran:?}");
    }
}

#[test]
fn every_section_of_a_file_is_read_strictly_by_every_command_that_reads_it() {
    for text in [
        "[run]\nmax_turnz = 1\n",
        "[roles.scout]\nbogus = 1\n",
        "[[hook]]\nbogus = 1\n",
        "[sandbox]\nbogus = 1\n",
        "[mcp.servers.x]\ncommand = \"/bin/true\"\nbogus = 1\n",
        "[policy]\nbogus = 1\n",
    ] {
        let world = World::with(&tools(&[("read", json!({}))]));
        world.file("tollgate.toml", text);
        for command in [
            &["call", "read"][..],
            &["explain", "read"],
            &["tools", "list"],
            &["policy", "show"],
            &["policy", "lint"],
        ] {
            let ran = world.on_mocks(command);
            assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{text} {command:?} {ran:?}");
            assert!(ran.err.contains("tollgate.toml:") && ran.err.contains("\nhint: "), "{text} {ran:?}");
        }
    }
}

#[test]
fn what_changes_something_says_in_json_what_it_did() {
    let world = World::new();
    let run = |args: &[&str]| {
        let ran = world.run(&[&["--json"], args].concat());
        assert_eq!(ran.code, Some(0), "{args:?} {ran:?}");
        ran.json()
    };
    let file = world.path().canonicalize().unwrap().join("tollgate.toml");
    let printed = run(&["init", "--print"]);
    assert!(printed["done"] == "printed" && printed["text"].as_str().unwrap().contains("[policy]"));
    assert!(!file.exists());
    assert_eq!(run(&["init"])["done"], "written");
    let trusted = run(&["trust"]);
    assert_eq!((&trusted["file"], &trusted["done"]), (&json!(file), &json!("trusted")));
    assert_eq!(trusted["rules"][0]["text"], "allow read(./**)", "{trusted}");
    assert_eq!(run(&["trust", "--forget"])["done"], "forgotten");
    assert_eq!(run(&["trust", "--forget"])["done"], "nothing_to_do");
    let added = run(&["mcp", "add", "here", "--", "/bin/true"]);
    assert_eq!((&added["name"], &added["done"]), (&json!("here"), &json!("written")));
    world.file("theirs.json", r#"{"mcpServers": {"there": {"command": "/bin/true"}}}"#);
    let preview = run(&["mcp", "import", "theirs.json", "--preview"]);
    assert_eq!((&preview["name"], &preview["preview"]), (&json!("there"), &json!(true)));
    assert_eq!(run(&["mcp", "import", "theirs.json"])["done"], "written");
    assert_eq!(run(&["mcp", "import", "theirs.json"])["done"], "nothing_to_do");
    assert_eq!(run(&["mcp", "remove", "here"])["done"], "removed");
    assert_eq!(run(&["breaker", "open", "bash"]), json!({"breaker": "tool:shell", "done": "opened"}));
    assert_eq!(run(&["breaker", "reset", "shell"])["done"], "closed");
    assert_eq!(run(&["breaker", "reset", "shell"])["done"], "nothing_to_do");
}

#[test]
fn a_call_that_a_rule_of_an_untrusted_file_would_let_run_says_which_and_where() {
    let world = World::new();
    world.file("tollgate.toml", "[policy]\nallow = [\n  \"glob\",\n  \"write(./out/**)\",\n]\n");
    std::fs::create_dir(world.path().join("out")).unwrap();
    let input = |path: &str| json!({"path": path, "content": "x"}).to_string();
    let inside = input("out/a");
    let file = world.path().canonicalize().unwrap().join("tollgate.toml");
    let said = format!(
        "`allow write(./out/**)` at {}:4 would let it run; it is inert until `tollgate trust`.",
        file.display()
    );
    let ran = world.run(&["call", "write", &inside]);
    assert!(
        ran.code == Some(4) && ran.err.contains(&format!("  hint:  {said} Otherwise give --allow")),
        "{ran:?}"
    );
    let json = world.run(&["call", "write", &inside, "--json"]);
    assert!(json.code == Some(4) && json.err.contains(&format!("note: {said}\n")), "{json:?}");
    let explained = world.run(&["explain", "write", &inside]);
    assert!(explained.out.contains(&said), "{explained:?}");
    let outside = world.run(&["call", "write", &input("a")]);
    assert!(outside.code == Some(4) && !outside.err.contains("inert"), "no rule would let that: {outside:?}");
    assert_eq!(world.run(&["trust"]).code, Some(0));
    assert_eq!(world.run(&["call", "write", &inside]).code, Some(0));
}
