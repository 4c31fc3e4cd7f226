use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::world::{Ran, World, tools};

fn world() -> World {
    World::with(&tools(&[("send", json!({})), ("read", json!({}))]))
}

fn call(world: &World, input: &str, more: &[&str]) -> Ran {
    world.on_mocks(&[&["call", "send", input, "--json"][..], more].concat())
}

fn park(world: &World, input: &str) -> String {
    park_with(world, input, &[])
}

fn park_with(world: &World, input: &str, more: &[&str]) -> String {
    let ran = call(world, input, &[&["--on-ask", "park"][..], more].concat());
    assert_eq!((ran.code, ran.status().1.as_str()), (Some(4), "approval_required"), "{ran:?}");
    let (_, rest) = ran.err.split_once("note: parked as ").unwrap_or_else(|| panic!("{ran:?}"));
    rest.split(';').next().unwrap().to_owned()
}

fn waiting(world: &World) -> Vec<Value> {
    world.run(&["approvals", "list", "--json"]).lines()
}

#[test]
fn without_a_person_a_question_is_refused_fails_or_waits_as_was_said() {
    let world = world();
    for (more, code) in
        [(&[][..], 4), (&["--on-ask", "deny"], 3), (&["--on-ask", "fail"], 4), (&["--on-ask", "park"], 4)]
    {
        let ran = call(&world, "{}", more);
        assert_eq!(
            (ran.code, ran.status().1.as_str()),
            (Some(code), "approval_required"),
            "{more:?} {ran:?}"
        );
        assert_eq!(ran.json()["digest"].as_str().map(str::len), Some(64));
        assert_eq!(waiting(&world).len(), usize::from(more.contains(&"park")), "{more:?}");
    }
}

#[test]
fn a_turn_goes_on_after_a_denied_question_and_stops_after_one_that_fails() {
    let world = world();
    let calls = json!({"calls": [{"id": "a", "name": "send", "input": {}}, {"id": "b", "name": "read", "input": {}}]});
    for (more, second) in [("deny", "ok"), ("park", "ok"), ("fail", "cancelled")] {
        let ran = world.feed(
            &["batch", "--format", "plain", "--mocks", "mocks.json", "--allow", "read", "--on-ask", more],
            calls.to_string(),
        );
        // A results message was printed: that is all `batch` promises.
        assert_eq!(ran.code, Some(0), "{more} {ran:?}");
        let results = ran.json()["results"].clone();
        let word = |result: &Value| result["code"].as_str().or(result["status"].as_str()).unwrap().to_owned();
        assert_eq!(
            (word(&results[0]).as_str(), word(&results[1]).as_str()),
            ("approval_required", second),
            "{more}"
        );
    }
}

#[test]
fn a_parked_question_is_shown_whole_answered_once_and_used_once() {
    let world = world();
    let id = park(&world, r#"{"to": "ann\u202e"}"#);
    assert_eq!(park(&world, r#"{"to": "ann\u202e"}"#), id, "the same question waits once");
    let list = world.run(&["approvals", "list"]);
    for text in [&id, "may send run?", "\"to\": \"ann\\u{202e}\"", "1  exactly this call"] {
        assert!(list.out.contains(text), "{text} {list:?}");
    }
    let answered = world.run(&["approvals", "answer", &id, "yes"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    let again = world.run(&["approvals", "answer", &id, "no"]);
    assert_eq!(
        (again.code, again.err.lines().last()),
        (Some(2), Some("hint: `tollgate approvals list` shows what waits."))
    );
    assert_eq!(waiting(&world), [] as [Value; 0]);
    assert_eq!(call(&world, r#"{"to": "bob"}"#, &[]).code, Some(4), "another call");
    assert_eq!(
        call(&world, r#"{"to": "ann\u202e"}"#, &["--caller", "other"]).code,
        Some(4),
        "another caller"
    );
    assert_eq!(call(&world, r#"{"to": "ann\u202e"}"#, &[]).code, Some(0), "the call itself, once");
    assert_eq!(call(&world, r#"{"to": "ann\u202e"}"#, &[]).code, Some(4), "and no second time");
}

#[test]
fn a_no_from_elsewhere_is_a_no_with_its_word_to_the_model() {
    let world = world();
    let id = park(&world, "{}");
    assert_eq!(world.run(&["approvals", "answer", &id, "no", "--message", "not today"]).code, Some(0));
    let ran = call(&world, "{}", &[]);
    assert_eq!((ran.code, &ran.json()["reason"]), (Some(3), &json!("The person said no: not today")));
}

#[test]
fn always_from_elsewhere_needs_to_know_how_far() {
    let world = world();
    let id = park(&world, "{}");
    for more in [&["always"][..], &["never"], &["always", "--reach", "99"], &["yes", "--reach", "1"]] {
        let ran = world.run(&[&["approvals", "answer", &id][..], more].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    assert_eq!(world.run(&["approvals", "answer", &id, "always", "--reach", "1"]).code, Some(0));
    assert_eq!(call(&world, "{}", &[]).code, Some(0));
    let id = park(&world, r#"{"n": 2}"#);
    assert_eq!(world.run(&["approvals", "answer", &id, "always", "--rule", "send(n=3)"]).code, Some(0));
    let ran = call(&world, r#"{"n": 2}"#, &[]);
    assert_eq!((ran.code, ran.status().1.as_str()), (Some(3), "denied"), "a rule of another call is no yes");
}

#[test]
fn a_digest_given_beforehand_lets_exactly_that_call_run() {
    let world = world();
    let digest = call(&world, r#"{"n": 1}"#, &[]).json()["digest"].as_str().unwrap().to_owned();
    assert_eq!(call(&world, r#"{"n": 2}"#, &["--approve", &digest]).code, Some(4));
    assert_eq!(call(&world, r#"{"n": 1}"#, &["--approve", &digest]).code, Some(0));
    let ran = call(&world, "{}", &["--approve", "abc"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn without_a_store_questions_and_answers_are_private_and_what_is_not_ours_is_no_answer() {
    let world = world();
    let id = park_with(&world, "{}", &["--no-store"]);
    let folder = world.path().join(".local/share/tollgate/approvals");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    world.run(&["approvals", "answer", &id, "yes"]);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    files.iter().for_each(|file| assert_eq!(mode(file), 0o600));
    // An answer that others could have written is none.
    let answer = files.iter().find(|file| file.extension().is_some_and(|kind| kind == "answer")).unwrap();
    std::fs::set_permissions(answer, std::fs::Permissions::from_mode(0o666)).unwrap();
    let ran = call(&world, "{}", &["--no-store"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("is not a private file of yours"), "{ran:?}");
    // Nor is one in a folder that others can enter.
    let id = park_with(&world, "{}", &["--no-store"]);
    world.run(&["approvals", "answer", &id, "yes"]);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let ran = call(&world, "{}", &["--no-store"]);
    assert!(ran.code == Some(4) && ran.err.contains("is open to others"), "{ran:?}");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(call(&world, "{}", &["--no-store"]).code, Some(0));
}

#[test]
fn with_a_store_questions_wait_in_it_beside_those_that_were_parked_without() {
    let world = world();
    let kept = park(&world, r#"{"n": 1}"#);
    assert!(!world.path().join(".local/share/tollgate/approvals").exists(), "nothing beside the store");
    let loose = park_with(&world, r#"{"n": 2}"#, &["--no-store"]);
    let ids: Vec<Value> = waiting(&world).iter().map(|pending| pending["id"].clone()).collect();
    assert_eq!(ids, [json!(kept), json!(loose)]);
    for id in [&kept, &loose] {
        assert_eq!(world.run(&["approvals", "answer", id, "yes"]).code, Some(0));
    }
    for input in [r#"{"n": 1}"#, r#"{"n": 2}"#] {
        assert_eq!(call(&world, input, &[]).code, Some(0), "{input}");
        assert_eq!(call(&world, input, &[]).code, Some(4), "{input}, used up");
    }
    let shown = world.run(&["trace", "export"]);
    assert!(shown.out.contains(r#""r":"asked""#) && shown.out.contains(r#""r":"answered""#), "{}", shown.out);
}

#[test]
fn without_a_store_an_old_question_is_no_longer_asked_and_an_old_yes_no_longer_good() {
    let world = world();
    let age = |kind: &str| {
        let folder = world.path().join(".local/share/tollgate/approvals");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let file = files.into_iter().find(|file| file.extension().is_some_and(|of| of == kind)).unwrap();
        let mut value: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        value["expires_ms"] = json!(1);
        std::fs::write(&file, value.to_string()).unwrap();
    };
    let id = park_with(&world, "{}", &["--no-store"]);
    world.run(&["approvals", "answer", &id, "yes"]);
    age("answer");
    assert_eq!(call(&world, "{}", &["--no-store"]).code, Some(4));
    let id = park_with(&world, "{}", &["--no-store"]);
    age("question");
    assert_eq!(waiting(&world), [] as [Value; 0]);
    assert_eq!(world.run(&["approvals", "answer", &id, "yes"]).code, Some(2));
}

#[test]
fn nothing_waits_where_nothing_was_parked() {
    let ran = World::new().run(&["approvals", "list"]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(0), "", "no question waits for a person.\n")
    );
}

#[test]
fn no_tool_can_answer_for_a_person_by_writing_or_reading_where_answers_are() {
    let touching = |access: &str| {
        json!({"effects": {"concurrency": "write_exclusive", "read_only": access == "read", "destructive": false,
            "idempotent": true, "open_world": false, "touches": [{"path_from": "/path", "access": access}]}})
    };
    let world = World::with(&tools(&[("read", touching("read")), ("write", touching("write"))]));
    let here = world.path().canonicalize().unwrap();
    for path in [
        ".local/share/tollgate/approvals/x.answer",
        ".local/share/tollgate/approvals",
        "in/../.local/share/tollgate",
    ] {
        for path in [path.to_owned(), here.join(path).display().to_string()] {
            for tool in ["read", "write"] {
                let ran = world.allowed(&["call", tool, &json!({ "path": path }).to_string(), "--json"]);
                assert_eq!(
                    (ran.code, ran.status().1.as_str()),
                    (Some(3), "protected_path"),
                    "{tool} {path} {ran:?}"
                );
            }
        }
    }
}

/// Parks a question of the built-in `write` and says its id.
fn park_write(world: &World, path: &str) -> String {
    let input = json!({"path": path, "content": "x"}).to_string();
    let ran = world.run(&["call", "write", &input, "--on-ask", "park"]);
    let (_, rest) = ran.err.split_once("note: parked as ").unwrap_or_else(|| panic!("{ran:?}"));
    rest.split(';').next().unwrap().to_owned()
}

fn write(world: &World, path: &str) -> Ran {
    world.run(&["call", "write", &json!({"path": path, "content": "x"}).to_string(), "--json"])
}

/// The number of the reach that means this folder.
fn of_folder(world: &World, id: &str) -> String {
    let list = waiting(world);
    let pending = list.iter().find(|pending| pending["id"] == id).unwrap();
    let reaches = pending["reaches"].as_array().unwrap();
    let at = reaches.iter().position(|reach| reach["rules"][0].as_str().unwrap().contains("path in ./d"));
    (at.unwrap_or_else(|| panic!("{pending}")) + 1).to_string()
}

#[test]
fn a_never_from_elsewhere_is_in_force_once_it_is_given_and_answers_what_else_waits() {
    let world = World::new();
    std::fs::create_dir(world.path().join("d")).unwrap();
    let (one, other) = (park_write(&world, "d/one"), park_write(&world, "d/other"));
    let apart = park_write(&world, "apart");
    let reach = of_folder(&world, &one);
    let ran = world.run(&["approvals", "answer", &one, "never", "--reach", &reach, "--for", "user"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("in force: deny ") && ran.err.contains("tollgate.toml:"), "{ran:?}");
    assert!(ran.err.contains(&other) && !ran.err.contains(&apart), "{ran:?}");
    let left: Vec<_> = waiting(&world).iter().map(|pending| pending["id"].clone()).collect();
    assert_eq!(left, [json!(apart)]);
    // Another call of the same folder, that nobody ever asked about.
    let ran = write(&world, "d/third");
    assert_eq!((ran.code, ran.status().1.as_str()), (Some(3), "denied"), "{ran:?}");
    assert!(!world.path().join("d/third").exists());
}

#[test]
fn an_always_from_elsewhere_is_written_where_it_belongs_or_it_is_said_why_not() {
    let world = World::new();
    std::fs::create_dir(world.path().join("d")).unwrap();
    world.file("tollgate.toml", "[policy]\ndeny = [\"read(**/.env)\"]\n");
    let id = park_write(&world, "d/one");
    let reach = of_folder(&world, &id);
    let ran = world.run(&["approvals", "answer", &id, "always", "--reach", &reach, "--for", "project"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("is not trusted") && ran.err.contains("this call alone"), "{ran:?}");
    assert_eq!(write(&world, "d/other").code, Some(4), "no rule was written");
    assert_eq!(write(&world, "d/one").code, Some(0), "the call itself has its yes");
    assert_eq!(world.run(&["trust"]).code, Some(0));
    let (id, other) = (park_write(&world, "d/two"), park_write(&world, "d/three"));
    let ran =
        world.run(&["approvals", "answer", &id, "always", "--reach", &reach, "--for", "project", "--json"]);
    assert_eq!((ran.code, &ran.json()["also_answered"]), (Some(0), &json!([other])), "{ran:?}");
    assert!(ran.json()["written"][0]["source"].as_str().unwrap().contains("tollgate.toml:"), "{ran:?}");
    for path in ["d/two", "d/three", "d/four"] {
        assert_eq!(write(&world, path).code, Some(0), "{path}");
    }
    let id = park_write(&world, "five");
    let ran = world.run(&["approvals", "answer", &id, "always", "--rule", "write(./d/**)", "--for", "user"]);
    assert_eq!(ran.code, Some(2), "a rule of another call is not taken: {ran:?}");
    assert_eq!(waiting(&world).len(), 1, "and the question still waits");
}

#[test]
fn a_very_wide_always_is_written_only_when_it_is_confirmed() {
    let world = World::new();
    let id = park_write(&world, "one");
    let answer = |more: &[&str]| world.run(&[&["approvals", "answer", &id][..], more].concat());
    for rule in ["*", "write(/**)", "write"] {
        for lifetime in ["user", "project", "session"] {
            let ran = answer(&["always", "--rule", rule, "--for", lifetime]);
            assert_eq!(ran.code, Some(2), "{rule} {lifetime}: {ran:?}");
            assert!(ran.err.contains(&format!("`{rule}`")), "{ran:?}");
            assert!(ran.err.lines().last().unwrap().contains("--confirm-wide"), "{ran:?}");
        }
    }
    assert_eq!(write(&world, "two").code, Some(4), "nothing was written");
    assert_eq!(waiting(&world).len(), 1, "and the question still waits");
    assert_eq!(answer(&["yes", "--confirm-wide"]).code, Some(2), "a yes is never wide");
    let ran = answer(&["always", "--rule", "*", "--for", "user", "--confirm-wide"]);
    assert!(ran.code == Some(0) && ran.err.contains("in force: allow *"), "{ran:?}");
    assert_eq!(write(&world, "two").code, Some(0));
}

#[test]
fn a_very_wide_always_is_known_for_one_where_the_tool_itself_is_not_here() {
    let world = world();
    let id = park(&world, "{}");
    for rule in ["*", "send"] {
        let ran = world.run(&["approvals", "answer", &id, "always", "--rule", rule, "--for", "user"]);
        assert!(ran.code == Some(2) && ran.err.contains("--confirm-wide"), "{rule}: {ran:?}");
    }
    let ran = world.run(&["approvals", "answer", &id, "always", "--rule", "send(n=1)", "--for", "user"]);
    assert_eq!(ran.code, Some(0), "what else it means nobody can tell here: {ran:?}");
}
