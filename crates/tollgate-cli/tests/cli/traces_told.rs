//! How records are told to others: from a store that is only read, and by which names.

use std::{
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    skipped::skipped,
    traces::world,
    world::{PROGRAM, Ran, World},
};

/// The program inside the world, where everybody may start it: the folder it is built in may be closed to others. Nobody
/// here ever has it open for writing, which would keep it from being started.
fn open_to_all(world: &World) -> PathBuf {
    let program = world.path().join("program");
    if std::fs::hard_link(PROGRAM, &program).is_err() {
        assert!(Command::new("cp").arg(PROGRAM).arg(&program).status().unwrap().success());
    }
    program
}

/// The program as somebody who may read the folder and nothing else; `None` with one clear line where that cannot be had.
fn as_a_reader(world: &World, program: &Path, args: &[&str]) -> Option<Ran> {
    let mut command = world.command_of(program, args);
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    match command.output() {
        Ok(output) => Some(output.into()),
        Err(error) => {
            skipped(format_args!(
                "a store of somebody else's: the program cannot be started as nobody: {error}"
            ));
            None
        }
    }
}

#[test]
fn a_store_that_cannot_be_written_is_listed_shown_exported_and_verified_and_nothing_is_made_in_it() {
    use std::{fs, os::unix::fs::PermissionsExt as _};
    let world = world();
    let program = open_to_all(&world);
    assert_eq!(world.allowed(&["call", "pay", r#"{"n":7}"#]).code, Some(0));
    let home = world.path().join(".local/share/tollgate");
    let everything = || {
        let mut names: Vec<_> = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    };
    for path in everything() {
        fs::set_permissions(&path, fs::Permissions::from_mode(if path.is_dir() { 0o555 } else { 0o444 }))
            .unwrap();
    }
    for folder in home.ancestors().take_while(|folder| folder.starts_with(world.path())) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    }
    let before = everything();
    for (args, said) in [
        (&["trace", "list"][..], "1 call: 1 ok"),
        (&["trace", "show"], "call_1  pay  ok"),
        (&["trace", "export"], "\"record\""),
        (&["trace", "verify"], "whole: "),
        (&["trace", "replay", "--no-config", "--mocks", "mocks.json"], "call_1  pay  then allow"),
        (&["budget", "list"], ""),
        (&["breaker", "list"], ""),
    ] {
        let Some(ran) = as_a_reader(&world, &program, args) else { break };
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert!(ran.out.contains(said), "{args:?}: {ran:?}");
        assert!(ran.err.contains("cannot be written and is only read"), "{args:?}: {ran:?}");
    }
    assert_eq!(everything(), before);
    if let Some(ran) = as_a_reader(&world, &program, &["trace", "prune"]) {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("hint: "), "{ran:?}");
    }
    for folder in home.ancestors().take_while(|folder| folder.starts_with(world.path())) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_recorded_call_is_told_with_the_names_its_answer_and_its_events_had() {
    let world = world();
    let called = world.allowed(&["call", "pay", r#"{"n":1}"#, "--json", "--events"]);
    let (mut answer, events) = (called.json(), called.err.lines());
    let told = world.run(&["trace", "show", "--json"]).json();
    let call = &told["calls"][0];
    assert_eq!(call["evidence_ref"], answer["evidence_ref"]);
    assert!(call["duration_ms"].as_f64().unwrap() > 0.0, "{call}");
    let mut recorded = call["answer"].clone();
    for one in [&mut answer, &mut recorded] {
        assert!(one["duration_ms"].take().is_f64(), "{one}");
    }
    assert_eq!(recorded, answer);
    let names: Vec<Value> =
        events.map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].take()).collect();
    let steps: Vec<Value> = call["steps"].as_array().unwrap().clone();
    assert!(steps.iter().all(|step| step["took_us"].is_number()), "{steps:?}");
    let steps: Vec<Value> = steps.iter().map(|step| step["event"].clone()).collect();
    // What the executor says of every body is not kept.
    let names: Vec<Value> = names.into_iter().filter(|name| name != "progress").collect();
    assert_eq!(steps, names);

    let refused = world.on_mocks(&["call", "pay", r#"{"n":1}"#, "--json", "--deny", "pay"]).json();
    let recorded = &world.run(&["trace", "show", "--json"]).json()["calls"][0]["answer"];
    for name in
        ["id", "tool", "status", "phase", "code", "reason", "hint", "attempts", "trust", "was_concurrent"]
    {
        assert_eq!(recorded[name], refused[name], "{name}");
    }
    assert_eq!(recorded["rule"]["text"], refused["rule"]["text"]);
    let replayed = world.run(&["trace", "replay", "--json", "--mocks", "mocks.json", "--allow", "*"]).json();
    assert!(replayed["reason"].is_string() && replayed["changed"] == true, "{replayed}");
}

#[test]
fn breakers_budgets_and_questions_are_told_by_the_names_that_commands_take() {
    let world = world();
    assert_eq!(world.run(&["breaker", "open", "server:far"]).code, Some(0));
    let open = world.run(&["breaker", "list", "--json"]).json();
    assert_eq!(
        open,
        json!({"breaker": "server:far", "state": "open", "failures": 0, "retry_after_ms": null})
    );
    assert_eq!(world.run(&["breaker", "reset", open["breaker"].as_str().unwrap()]).code, Some(0));
    assert_eq!(world.run(&["breaker", "list", "--json"]).out, "");
    let parked = world.on_mocks(&["call", "pay", r#"{"n":1}"#, "--on-ask", "park", "--ask", "pay"]);
    assert_eq!(parked.code, Some(4), "{parked:?}");
    let question = world.run(&["approvals", "list", "--json"]).json();
    assert_eq!((&question["input"], &question["args"]), (&json!({"n": 1}), &Value::Null));
    assert_eq!(question["rule"], json!({"text": "ask pay", "source": "--ask"}));
}

#[test]
fn every_name_of_an_exported_record_is_in_its_help_and_its_reference() {
    let world = world();
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let traced = [
        "call",
        "pay",
        r#"{"n":1}"#,
        "--mocks",
        "mocks.json",
        "--allow",
        "*",
        "--caller",
        "me",
        "--idempotency-key",
        "k",
    ];
    assert!(world.command(&traced).env("TRACEPARENT", traceparent).status().unwrap().success());
    world.allowed(&["call", "look", "not json"]);
    world.on_mocks(&["call", "pay", r#"{"n":2}"#, "--on-ask", "park", "--ask", "pay"]);
    let question = world.run(&["approvals", "list", "--json"]).json()["id"].take();
    world.run(&["approvals", "answer", question.as_str().unwrap(), "no"]);
    let (help, reference) =
        (world.run(&["trace", "export", "--help"]).out, include_str!("../../../../docs/traces.md"));
    let records: Vec<Value> = world.run(&["trace", "export"]).lines();
    let kinds: Vec<_> = records.iter().map(|line| line["record"]["r"].as_str().unwrap()).collect();
    for kind in ["settled", "call", "asked", "answered", "delivered", "steps", "traced"] {
        assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
    }
    let words: Vec<&str> = help.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    for line in &records {
        let record = line["record"].as_object().unwrap();
        for name in record.keys().map(String::as_str).chain([record["r"].as_str().unwrap()]) {
            assert!(words.contains(&name), "{name} is not in the help");
            assert!(reference.contains(&format!("`{name}`")), "{name} is not in docs/traces.md");
        }
    }
}
