//! What a rule or a name keeps from being read is kept whatever reads it: a folder, a link, a list, a search, an edit.

use serde_json::{Value, json};

use crate::world::{Ran, World};

fn call(world: &World, tool: &str, input: &Value, more: &[&str]) -> Ran {
    let input = input.to_string();
    let mut command = world.command(&[&["call", tool, &input], more].concat());
    command.current_dir(world.path().join("p")).env("PATH", "/usr/bin:/bin").output().unwrap().into()
}

/// A project in a home of somebody else's, with one secret in a folder of its own.
fn project() -> World {
    let world = World::new();
    for folder in ["p/conf", "p/links", "p/keep", "p/notes"] {
        std::fs::create_dir_all(world.path().join(folder)).unwrap();
    }
    world.file("p/conf/.env", "KEY=hushed\n");
    world.file("p/plain", "plain\n");
    std::os::unix::fs::symlink("../conf/.env", world.path().join("p/links/e")).unwrap();
    std::os::unix::fs::symlink("../conf", world.path().join("p/keep/all")).unwrap();
    world
}

#[test]
fn no_command_reads_a_secret_that_nobody_was_asked_about() {
    let world = project();
    for line in [
        "grep -r . conf",
        "cat conf/.e*",
        "cat links/*",
        "cat links/e*",
        "cat keep/*/.e*",
        "cat keep/all/.e*",
        "printf 'conf/.env\\0' | sort --files0-from=-",
        "file -f conf/.env",
    ] {
        for more in [&[][..], &["--deny", "read(**/.env)"], &["--deny", "read(./conf/**)"]] {
            let ran = call(&world, "shell", &json!({"command": line}), more);
            let said = format!("{}{}", ran.out, ran.err);
            assert!(!said.contains("hushed"), "{line} {more:?}: {ran:?}");
        }
    }
    let ran = call(&world, "shell", &json!({"command": "grep -r . plain conf"}), &[]);
    assert!(ran.out.contains("plain"), "{ran:?}");
}

#[test]
fn a_rule_for_one_caller_holds_for_what_that_caller_searches() {
    let world = project();
    world.file("p/notes/a", "hushed");
    world.file(
        "p/tollgate.toml",
        "[[policy.rule]]\ndo = \"deny\"\ntool = \"read(./notes/**)\"\ncaller = \"guest\"\n",
    );
    for (tool, input) in
        [("grep", json!({"pattern": "hushed"})), ("shell", json!({"command": "grep -r hushed ."}))]
    {
        let told = |caller: &str| {
            let calls = json!([{"id": "1", "name": tool, "input": input}]);
            let turn = json!({"calls": calls, "context": {"caller": caller}}).to_string();
            world.file("turn.json", turn);
            let mut batch = world.command(&["batch", "--format", "plain", "--root", "p", "turn.json"]);
            Ran::from(batch.env("PATH", "/usr/bin:/bin").output().unwrap()).out
        };
        assert!(told("host").contains("notes/a"), "{tool}: {}", told("host"));
        assert!(!told("guest").contains("hushed"), "{tool}: {}", told("guest"));
    }
}

#[test]
fn a_change_tells_nothing_of_a_file_that_may_be_written_but_not_read() {
    let world = project();
    world.file("p/safe", "first\nhushed\nlast\n");
    let more = ["--allow", "write(./**)", "--deny", "read(./safe)"];
    let near = json!({"path": "safe", "edits": [{"op": "replace", "old": "hushhed", "new": "x"}]});
    let ran = call(&world, "edit", &near, &more);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(!ran.out.contains("\nhushed") && ran.err.contains("hint"), "{ran:?}");
    for (tool, input) in [
        ("edit", json!({"path": "safe", "edits": [{"op": "append", "text": "more"}]})),
        ("edit", json!({"path": "safe", "edits": [{"op": "insert", "line": 2, "text": "more"}]})),
        ("write", json!({"path": "safe", "content": "more", "mode": "append"})),
        ("write", json!({"path": "safe", "content": "new\n"})),
    ] {
        let ran = call(&world, tool, &input, &more);
        assert_eq!(ran.code, Some(0), "{tool}: {ran:?}");
        assert!(!ran.out.contains("hushed") && !ran.out.contains("sha256"), "{tool} {input}: {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(world.path().join("p/safe")).unwrap(), "new\n");
}

#[test]
fn an_allow_of_writes_is_enough_where_nothing_keeps_the_file_from_being_read() {
    let world = project();
    let near = json!({"path": "plain", "edits": [{"op": "replace", "old": "plane", "new": "x"}]});
    let ran = call(&world, "edit", &near, &["--allow", "write(./**)"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(format!("{}{}", ran.out, ran.err).contains("Nearest"), "{ran:?}");
    let edit = json!({"path": "plain", "edits": [{"op": "replace", "old": "plain", "new": "x"}]});
    let ran = call(&world, "edit", &edit, &["--allow", "write(./**)"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
