use serde_json::{Value, json};

use crate::world::{World, tools};

#[test]
fn a_bare_machine_is_healthy_and_told_what_is_missing() {
    let world = World::new();
    let here = world.path().canonicalize().unwrap();
    let ran = world.run(&["doctor"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    // What holds commands is another thing on every machine, and the built-in tools grow.
    let differs = |line: &&str| {
        ["sandbox", " for L3", "gives L2", "the network is"].iter().any(|word| line.contains(word))
            || line.starts_with("  tools ")
    };
    let (differing, rest): (Vec<_>, Vec<_>) = ran.out.lines().partition(differs);
    assert!(["L1: ", "L2: ", "L3: "].iter().any(|level| differing[0].contains(level)), "{differing:?}");
    let tools = differing.iter().find_map(|line| line.strip_prefix("  tools ")).unwrap();
    assert!(tools.trim().parse::<usize>().unwrap() >= 8, "{tools:?}");
    assert_eq!(
        rest.join("\n"),
        format!(
            "tollgate {}\n  \
             root         {}\n  \
             concurrency  10 calls of a batch at once (TOLLGATE_MAX_CONCURRENCY)\n  \
             results      {1}/.local/share/tollgate/results (made on first use)\n  \
             store        {1}/.local/share/tollgate/ledger.db (made on first use)\n  \
             undo         {1}/.local/share/tollgate/undo (what file tools changed)\n  \
             model keys   none is set\n  \
             asking       nobody can be asked from this command line\n  \
             hint:        no rules are given: what needs a yes is refused, with exit code 4; give --allow RULE.\n  \
             hint:        no model key is set: set ANTHROPIC_API_KEY or OPENAI_API_KEY for `tollgate run`, or use a local model \
             (--model chat:NAME@URL).",
            env!("CARGO_PKG_VERSION"),
            here.display(),
        )
        .replacen(&format!("{}/.local", here.display()), &format!("{}/.local", world.path().display()), 3)
    );
}

#[test]
fn everything_that_was_given_is_looked_at_and_the_json_has_it_all() {
    let mut mocks = tools(&[("read", json!({})), ("write", json!({}))]);
    mocks["routes"] = json!({"reading": ["read"]});
    mocks["tools"].as_array_mut().unwrap().push(json!({"name": "bare"}));
    let world = World::with(&mocks);
    let args = [
        "doctor",
        "--json",
        "--mocks",
        "mocks.json",
        "--allow",
        "read",
        "--deny",
        "wirte",
        "--results",
        "kept",
        "--route",
        "raeding",
    ];
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(1));
    let mut report = ran.json();
    let sandbox = report.as_object_mut().unwrap().remove("sandbox").unwrap();
    assert!(["L1", "L2", "L3"].contains(&sandbox["level"].as_str().unwrap()), "{sandbox}");
    assert_eq!(
        report,
        json!({
            "version": env!("CARGO_PKG_VERSION"), "ok": false, "roots": [world.path().canonicalize().unwrap()],
            "concurrency": 10, "results": {"folder": "kept", "exists": false},
            "store": {"place": world.path().join(".local/share/tollgate/ledger.db"), "bytes": null, "keyed_from_outside": false},
            "undo": world.path().join(".local/share/tollgate/undo"),
            "tools": 2,
            "mocks": [{"file": "mocks.json", "tools": 2, "routes": ["reading"], "set_aside": [{"tool": "bare", "reason":
                "it has no schema of its arguments (`input_schema`, `inputSchema` or `parameters`)"}]}],
            "config": [],
            "rules": [{"rule": {"text": "deny wirte", "source": "--deny", "layer": "session"}, "speaks": false},
                      {"rule": {"text": "allow read", "source": "--allow", "layer": "session"}, "speaks": true}],
            "asking": "nobody", "keys": [],
            "broken": [{"reason": "there is no route \"raeding\"", "hint": "did you mean `reading`?"}],
            "advice": ["put right what was set aside: until then those tools do not exist.",
                       "--deny wirte means none of the tools: correct it.",
                       "no model key is set: set ANTHROPIC_API_KEY or OPENAI_API_KEY for `tollgate run`, or use a \
                        local model (--model chat:NAME@URL)."],
        })
    );
}

#[test]
fn what_is_broken_is_1_and_named_with_a_hint_and_the_rest_is_looked_at() {
    let world = World::with(&tools(&[("read", json!({}))]));
    world.file("bad.json", "{");
    world.file("file", "");
    let args = [
        "doctor",
        "--json",
        "--mocks",
        "bad.json",
        "--mocks",
        "mocks.json",
        "--root",
        "absent",
        "--deny",
        "a b",
        "--results",
        "file/below",
    ];
    let output = world.command(&args).env("TOLLGATE_MAX_CONCURRENCY", "x").output().unwrap();
    let ran = crate::world::Ran::from(output);
    assert_eq!(ran.code, Some(1));
    let report = ran.json();
    assert_eq!((&report["ok"], &report["tools"]), (&json!(false), &json!(1)));
    let broken = report["broken"].as_array().unwrap();
    assert_eq!(broken.len(), 5, "{broken:#?}");
    assert!(broken.iter().all(|one| !one["hint"].as_str().unwrap().is_empty()));
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = World::new().run(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{shell}");
        assert!(ran.out.contains("explain") && ran.out.contains("replay"), "{shell}");
    }
    let bash = World::new().run(&["completions", "bash"]).out;
    assert!(bash.contains("help__subcmd__policy__subcmd__lint"), "what `help` takes is completed, too");
}

#[test]
fn every_command_says_of_itself_what_the_list_of_commands_says() {
    let world = World::new();
    let help = world.run(&["--help"]).out;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let commands: Vec<_> = list.lines().map(|line| line.trim().split_once("  ").unwrap()).collect();
    assert!(commands.len() > 15, "{commands:?}");
    for (name, about) in commands.into_iter().filter(|(name, _)| *name != "help") {
        let own = world.run(&[name, "--help"]).out;
        assert_eq!(own.lines().next(), Some(about.trim()), "{name}");
        assert!(own.contains(&format!("Usage: tollgate {name}")), "{own}");
    }
}

#[test]
fn version_and_help_are_data() {
    let ran = World::new().run(&["--version"]);
    assert_eq!((ran.code, ran.out), (Some(0), format!("tollgate {}\n", env!("CARGO_PKG_VERSION"))));
    for args in [&["--help"][..], &["call", "--help"], &["explain", "--help"]] {
        let ran = World::new().run(args);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        assert!(ran.out.contains("--mocks <FILE>"), "{args:?}");
    }
}

#[test]
fn model_keys_are_named_and_what_they_hold_is_not() {
    let world = World::new();
    let output = world.command(&["doctor"]).env("OPENAI_API_KEY", "sk-very-secret").output().unwrap();
    let ran = crate::world::Ran::from(output);
    assert!(ran.out.contains("  model keys   OPENAI_API_KEY\n"), "{}", ran.out);
    assert!(!ran.out.contains("secret") && !ran.out.contains("no model key"), "{}", ran.out);
}

#[test]
fn doctor_says_where_the_store_is_and_what_is_wrong_with_it() {
    let world = World::with(&tools(&[("pay", json!({}))]));
    let fresh = world.run(&["doctor", "--json"]).json();
    assert_eq!(fresh["store"]["bytes"], Value::Null);
    assert!(!world.path().join(".local/share/tollgate/ledger.db").exists(), "looking makes nothing");
    world.allowed(&["call", "pay"]);
    assert!(world.run(&["doctor", "--json"]).json()["store"]["bytes"].as_i64() > Some(0));
    assert!(world.run(&["doctor"]).out.contains("ledger.db ("));
    let home = world.path().join(".local/share/tollgate");
    for file in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(home.join(file));
    }
    std::fs::write(home.join("ledger.db"), "no database").unwrap();
    let broken = world.run(&["doctor"]);
    assert!(broken.code == Some(1) && broken.out.contains("is damaged"), "{broken:?}");
}

#[test]
fn servers_are_listed_with_what_keeps_them_from_starting_and_none_is_started() {
    let world = World::new();
    let folder = world.path().join(".config/tollgate");
    std::fs::create_dir_all(&folder).unwrap();
    let started = world.path().join("started");
    let script =
        world.file("up.sh", format!("touch {:?}\n", started.display().to_string())).display().to_string();
    let config = format!(
        "[mcp.servers.here]\ncommand = [\"/bin/sh\", {script:?}]\n[mcp.servers.gone]\ncommand = \"no-such-program-anywhere\"\n\
         [mcp.servers.web]\nurl = \"https://example.org/mcp\"\nheaders = {{ Authorization = \"Bearer ${{WEB_TOKEN}}\" }}\n"
    );
    std::fs::write(folder.join("tollgate.toml"), config).unwrap();
    world.file(".mcp.json", json!({"mcpServers": {"theirs": {"command": "/bin/true"}}}).to_string());
    let report = world.run(&["doctor", "--json"]).json();
    let told: Vec<_> = report["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            let text = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
            (text("name"), text("state"), text("reason"), text("hint"))
        })
        .collect();
    for (name, state, problem, hint) in [
        (
            "gone",
            "ready to start",
            "its program \"no-such-program-anywhere\" is not found",
            "correct `command`",
        ),
        ("here", "ready to start", "", "tollgate mcp check here"),
        ("theirs", "not trusted", "nobody trusts", "tollgate trust"),
        ("web", "ready to start", "it wants the variable WEB_TOKEN", "set WEB_TOKEN"),
    ] {
        let found = told.iter().find(|one| one.0 == name).unwrap_or_else(|| panic!("{name}: {told:?}"));
        assert!(found.1 == state && found.2.starts_with(problem) && found.3.contains(hint), "{found:?}");
    }
    let shown = world.run(&["doctor"]);
    assert!(
        shown.out.contains("server       here, ready to start, 0 tools pinned; outside the sandbox"),
        "{}",
        shown.out
    );
    let listed = world.run(&["mcp", "list"]);
    assert!(listed.err.contains("the server gone: its program"), "{listed:?}");
    assert!(!started.exists(), "nothing is started to be looked at");
}

#[test]
fn doctor_finds_what_keeps_calls_from_being_made() {
    let json = |text: &str| (".mcp.json", text.to_owned());
    let toml = |text: &str| ("tollgate.toml", text.to_owned());
    for (name, text) in [
        toml("[mcp.servers.x]\ncommand = \"/bin/true\"\nbogus = 1\n"),
        json("{\"mcpServers\": "),
        json("[]"),
        toml("[run]\nbogus = 1\n"),
    ] {
        let world = World::new();
        assert_eq!(world.run(&["doctor"]).code, Some(0));
        world.file(name, &text);
        world.file("a.txt", "");
        let call = world.run(&["call", "@x/tool"]);
        assert!(call.code == Some(2) && call.err.contains(name), "{text}: {call:?}");
        let doctor = world.run(&["doctor", "--json"]);
        let report = doctor.json();
        assert_eq!((doctor.code, &report["ok"]), (Some(1), &json!(false)), "{text}: {report}");
        let broken = report["broken"].as_array().unwrap();
        assert_eq!(broken.len(), 1, "{text}: {broken:?}");
        let reason = broken[0]["reason"].as_str().unwrap();
        assert!(call.err.contains(reason), "{text}: {reason} {call:?}");
    }
}
