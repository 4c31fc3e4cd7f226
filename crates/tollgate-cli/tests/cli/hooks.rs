use serde_json::{Value, json};

use crate::world::{Ran, World, tools};

/// A world whose person has these hooks.
fn world(hooks: &str) -> World {
    let world = World::with(&tools(&[("send", json!({}))]));
    std::fs::create_dir_all(world.path().join(".config/tollgate")).unwrap();
    world.file(".config/tollgate/tollgate.toml", hooks);
    world
}

fn hook(name: &str, kind: &str, script: &str) -> String {
    let script = Value::from(script);
    format!(
        "[[hook]]\nname = \"{name}\"\nkind = \"{kind}\"\non = [\"before\"]\ncommand = [\"/bin/sh\", \"-c\", {script}]\n"
    )
}

fn call(world: &World, input: &str) -> Ran {
    world.allowed(&["call", "send", input, "--json", "--events"])
}

#[test]
fn a_hook_of_the_persons_file_rewrites_blocks_and_is_seen_in_the_events() {
    let rewrite = world(&hook("test-box", "gate", r#"echo '{"decision":"rewrite","input":{"to":"test"}}'"#));
    let ran = call(&rewrite, r#"{"to": "ann"}"#);
    assert_eq!(ran.json()["output"], json!([{"type": "json", "json": {"to": "test"}}]), "{ran:?}");
    assert!(ran.err.contains(r#""event":"hook","hook":"test-box","did":"rewrote the input""#), "{ran:?}");
    let block = world(&hook("no-mail", "gate", "echo 'no mail today' >&2; exit 2"));
    let ran = call(&block, "{}");
    assert_eq!((ran.code, ran.status().1.as_str()), (Some(3), "blocked_by_hook"));
    assert_eq!(ran.json()["reason"], "The hook `no-mail` blocked this call: no mail today");
    let observer = world(&hook("watch", "observer", "exit 9"));
    let ran = call(&observer, "{}");
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains(r#""hook":"watch","did":"it failed (it exited with 9)""#), "{ran:?}");
}

#[test]
fn a_hook_gets_nothing_of_ours_and_starts_in_the_working_folder() {
    let world = world(&hook("look", "gate", r#"env > env.txt; echo '{"decision":"pass"}'"#));
    let args = ["call", "send", "--mocks", "mocks.json", "--allow", "*"];
    let mut command = world.command(&args);
    command
        .env("OPENAI_API_KEY", "sk")
        .env("TOLLGATE_MAX_CONCURRENCY", "3")
        .env("LC_ALL", "C")
        .env("PATH", "/bin");
    assert!(command.status().unwrap().success());
    let seen = std::fs::read_to_string(world.path().join("env.txt")).unwrap();
    assert!(seen.contains("LC_ALL=C") && !seen.contains("OPENAI") && !seen.contains("TOLLGATE"), "{seen}");
}

#[test]
fn explain_names_the_hooks_that_match_and_runs_none() {
    let world = world(
        &(hook("a", "gate", "touch ran; exit 2")
            + &hook("b", "observer", "touch ran")
            + "tools = [\"other\"]\n"),
    );
    let ran = world.allowed(&["explain", "send", "--json"]);
    assert_eq!(ran.json()["hooks"], json!(["a"]));
    let ran = world.allowed(&["explain", "send"]);
    assert!(ran.out.contains("would ask the hooks a; none was run"), "{ran:?}");
    assert!(!world.path().join("ran").exists());
}

#[test]
fn a_projects_hooks_do_nothing_until_a_person_trusts_exactly_this_file() {
    let world = World::with(&tools(&[("send", json!({}))]));
    let gate = hook("theirs", "gate", "touch ran; exit 2");
    world.file("tollgate.toml", &gate);
    let ran = world.allowed(&["call", "send"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("note: the hook theirs (") && !world.path().join("ran").exists(), "{ran:?}");
    let doctor = world.run(&["doctor"]);
    assert!(doctor.out.contains("theirs, inert until `tollgate trust`"), "{doctor:?}");
    assert!(!world.path().join("ran").exists(), "doctor runs no hook that nobody trusts");
    let trusted = world.run(&["trust"]);
    assert!(
        trusted.code == Some(0) && trusted.out.contains("theirs runs /bin/sh -c touch ran; exit 2"),
        "{trusted:?}"
    );
    assert_eq!(world.allowed(&["call", "send"]).code, Some(3));
    world.file("tollgate.toml", gate + "# changed\n");
    assert_eq!(world.allowed(&["call", "send"]).code, Some(0), "another content is not trusted");
}

#[test]
fn doctor_fires_every_gate_once_and_says_which_fail() {
    let good = hook("good", "gate", r#"echo x >> fired; echo '{"decision":"pass"}'"#);
    let all =
        good + &hook("bad", "gate", "echo broken >&2; exit 1") + &hook("watch", "observer", "touch watched");
    let world = world(&all);
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    for text in [
        "good, a gate, answers",
        "bad, a gate, fails: it exited with 1: broken",
        "watch, an observer, not tried",
    ] {
        assert!(ran.out.contains(text), "{text} {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(world.path().join("fired")).unwrap(), "x\n");
    assert!(!world.path().join("watched").exists());
}

#[test]
fn a_hook_that_is_not_understood_is_an_error_with_its_place_and_nothing_runs() {
    let world = world(&(hook("a", "gate", "true") + "colour = 1\n"));
    for args in [&["call", "send"][..], &["explain", "send"]] {
        let ran = world.allowed(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains("tollgate.toml:6:1: unknown field `colour`"), "{ran:?}");
        assert!(ran.err.lines().last().unwrap().starts_with("hint: "), "{ran:?}");
    }
}
