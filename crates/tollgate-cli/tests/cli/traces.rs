//! What was done is recorded, shown, exported and verified; a key counts once from process to process.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::skipped::skipped;
use crate::world::{Ran, World, tools};

pub(crate) fn world() -> World {
    let reading =
        json!({"concurrency": "read_only", "read_only": true, "destructive": false, "open_world": false});
    World::with(&tools(&[
        ("pay", json!({"answers": [{"text": "paid"}]})),
        ("look", json!({"effects": reading, "answers": [{"text": "seen"}]})),
    ]))
}

#[test]
fn a_call_is_recorded_and_shown_with_who_allowed_it_and_what_came_of_it() {
    let world = world();
    let ran = world.allowed(&["call", "pay", r#"{"n":7}"#]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let list = world.run(&["trace", "list", "--json"]).json();
    assert_eq!((&list["calls"], &list["ok"]), (&json!(1), &json!(1)));
    let shown = world.run(&["trace", "show"]);
    for part in [
        "call_1  pay  ok",
        r#"input     {"n":7}"#,
        "allowed   allow *",
        "result    paid",
        "steps     proposed",
        "settled",
    ] {
        assert!(shown.out.contains(part), "{part:?} is not in {}", shown.out);
    }
    let call = &world.run(&["trace", "show", "--json"]).json()["calls"][0];
    assert!(call["delivered_ms"].is_i64() && call["started_ms"].is_i64(), "{call}");
}

#[test]
fn the_same_key_counts_once_from_process_to_process() {
    let world = world();
    let key = ["--idempotency-key", "k", "--json"];
    let one = world.allowed(&[&["call", "pay", r#"{"n":1}"#][..], &key].concat()).json();
    let two = world.allowed(&[&["call", "pay", r#"{"n":1}"#][..], &key].concat()).json();
    assert_eq!((&one["replayed"], &two["replayed"]), (&Value::Null, &json!(true)));
    assert_eq!(one["output"], two["output"]);
    let told = world.allowed(&["call", "pay", r#"{"n":1}"#, "--idempotency-key", "k"]);
    let note = "note: replayed: this is the answer of an earlier call under the same key; nothing ran now.\n";
    assert_eq!((told.code, told.err.as_str()), (Some(0), note), "a person is told, too: {told:?}");
    let first = world.allowed(&["call", "pay", r#"{"n":1}"#, "--idempotency-key", "other"]);
    assert_eq!(first.err, "", "{first:?}");
    let other = world.allowed(&[&["call", "pay", r#"{"n":2}"#][..], &key].concat());
    assert_eq!((other.code, &other.json()["code"]), (Some(3), &json!("idempotency_conflict")));
}

#[test]
fn with_no_store_nothing_is_recorded_and_nothing_is_made() {
    let world = world();
    assert_eq!(world.allowed(&["call", "pay", "--no-store"]).code, Some(0));
    assert!(!world.path().join(".local").exists());
    for list in ["trace", "budget", "breaker"] {
        let ran = world.run(&[list, "list"]);
        assert_eq!((ran.code, &*ran.out), (Some(0), ""), "{list}");
        assert!(ran.err.contains("note: nothing is recorded yet"), "{}", ran.err);
    }
    let ran = world.run(&["trace", "show"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("nothing is recorded yet") && ran.err.contains("hint: "), "{}", ran.err);
}

#[test]
fn a_trace_is_verified_and_a_changed_row_is_found() {
    let world = world();
    world.allowed(&["call", "pay"]);
    world.allowed(&["call", "look"]);
    let ran = world.run(&["trace", "verify"]);
    assert!(ran.code == Some(0) && ran.out.starts_with("whole: "), "{ran:?}");
    assert!(ran.err.contains("cannot show"), "{}", ran.err);
    let file = world.path().join(".local/share/tollgate/ledger.db");
    let status = std::process::Command::new("python3")
        .args(["-c", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(\"update journal set body=replace(body, 'paid', 'owed')\"); c.commit()"])
        .arg(file)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        skipped("no python3 to change the database with");
        return;
    }
    let ran = world.run(&["trace", "verify"]);
    assert!(ran.code == Some(1) && ran.out.contains("broken at row"), "{ran:?}");
}

#[test]
fn records_are_exported_as_lines_and_as_spans_that_a_receiver_gets() {
    let world = world();
    world.allowed(&["call", "pay"]);
    let ran = world.run(&["trace", "export"]);
    let kinds: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["record"]["r"].as_str().unwrap().to_owned())
        .collect();
    for kind in ["proposed", "decided", "started", "settled", "delivered", "steps"] {
        assert!(kinds.iter().any(|known| known == kind), "{kinds:?}");
    }
    let (head, body) = sent(&world);
    assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
    assert!(head.contains("Content-Type: application/x-protobuf"), "{head}");
    let holds = |words: &[u8]| body.windows(words.len()).any(|window| window == words);
    assert!(holds(b"execute_tool pay") && holds(b"gen_ai.tool.call.arguments"), "{body:?}");
}

/// Exports everything to a receiver on loopback; the head and the body of what it got.
fn sent(world: &World) -> (String, Vec<u8>) {
    let receiver = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", receiver.local_addr().unwrap());
    let got = std::thread::spawn(move || {
        let (mut stream, _) = receiver.accept().unwrap();
        let mut bytes = Vec::new();
        let mut block = [0; 4096];
        loop {
            let read = stream.read(&mut block).unwrap();
            bytes.extend_from_slice(&block[..read]);
            let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let (head, body) = (String::from_utf8_lossy(&bytes[..end]).into_owned(), &bytes[end + 4..]);
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            if body.len() >= length.parse().unwrap() {
                // In two pieces, as a network may cut it.
                for piece in [&b"HTTP/1."[..], b"1 200 OK\r\nContent-Length: 0\r\n\r\n"] {
                    stream.write_all(piece).unwrap();
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                return (head, body.to_owned());
            }
        }
    });
    let ran = world.run(&["trace", "export", "--otlp", &url]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    got.join().unwrap()
}

#[test]
fn a_replay_says_what_todays_rules_would_decide_otherwise_and_runs_nothing() {
    let world = world();
    world.allowed(&["call", "pay"]);
    let ran = world.on_mocks(&["trace", "replay", "--deny", "pay", "--json"]);
    let line = ran.json();
    assert_eq!(
        (&line["then"], &line["now"], &line["changed"]),
        (&json!("allow"), &json!("refused"), &json!(true))
    );
    assert_eq!(world.run(&["trace", "list", "--json"]).json()["calls"], 1);
}

#[test]
fn a_damaged_or_newer_store_is_told_and_the_read_goes_on_while_the_write_does_not() {
    let world = world();
    world.allowed(&["call", "look"]);
    let home = world.path().join(".local/share/tollgate");
    for file in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(home.join(file));
    }
    std::fs::write(home.join("ledger.db"), "this is no database at all, whatever its name says").unwrap();
    let read = world.allowed(&["call", "look"]);
    assert!(
        read.code == Some(0) && read.err.contains("nothing was recorded") && read.err.contains("hint: "),
        "{read:?}"
    );
    let write = world.allowed(&["call", "pay"]);
    assert_eq!(write.code, Some(3), "{write:?}");
    let trace = world.run(&["trace", "list"]);
    assert!(
        trace.code == Some(1) && trace.err.contains("is damaged") && trace.err.contains("move the file"),
        "{trace:?}"
    );
}

#[test]
fn a_breaker_opened_by_hand_or_by_failures_holds_in_the_next_process_until_it_is_reset() {
    let world = World::with(&tools(&[
        ("sick", json!({"answers": [{"unknown": "gone"}]})),
        ("pay", json!({"answers": [{"text": "paid"}]})),
    ]));
    let ran = world.run(&["breaker", "open", "pay", "--mocks", "mocks.json"]);
    assert!(ran.code == Some(0) && !ran.err.contains("no tool of this program"), "{ran:?}");
    let slip = world.run(&["breaker", "open", "pya", "--mocks", "absent.json"]);
    assert!(
        slip.code == Some(0) && slip.err.contains("open: "),
        "no file keeps a stop from being made: {slip:?}"
    );
    assert!(world.run(&["breaker", "open", "pya"]).err.contains("no tool of this program"), "a slip is told");
    assert!(world.run(&["breaker", "reset", "pya"]).err.starts_with("closed: "));
    let again = world.run(&["breaker", "reset", "tool:pya"]);
    assert!(again.code == Some(0) && again.err.starts_with("note: tool `pya` was not open"), "{again:?}");
    for what in ["bogus:pay", "", " ", "tool:", "route:"] {
        for word in ["open", "reset"] {
            let ran = world.run(&["breaker", word, what]);
            assert!(ran.code == Some(2) && ran.err.contains("hint: "), "{what:?} {ran:?}");
        }
    }
    let refused = world.allowed(&["call", "pay", "--json"]);
    assert_eq!(refused.status(), ("refused".to_owned(), "circuit_open".to_owned()), "{refused:?}");
    assert!(world.run(&["breaker", "list"]).out.contains("tool `pay`  open"));
    assert_eq!(world.run(&["breaker", "reset", "pay"]).code, Some(0));
    assert_eq!(world.allowed(&["call", "pay"]).code, Some(0));
    for _ in 0..5 {
        world.allowed(&["call", "sick"]);
    }
    let refused = world.allowed(&["call", "sick", "--json"]);
    assert_eq!(refused.status().1, "circuit_open", "{refused:?}");
    assert_eq!(world.run(&["breaker", "list", "--json"]).json()["failures"], 5);
}

#[test]
fn a_breaker_is_opened_and_reset_by_any_name_of_its_tool() {
    let world = World::new();
    let call = || {
        let mut call =
            world.command(&["call", "shell", r#"{"command": "true"}"#, "--allow", "shell", "--json"]);
        crate::world::Ran::from(call.env("PATH", "/usr/bin:/bin").output().unwrap())
    };
    assert_eq!(call().code, Some(0));
    let ran = world.run(&["breaker", "open", "bash"]);
    assert!(ran.code == Some(0) && ran.err.contains("tool `shell` is not called"), "{ran:?}");
    assert_eq!(call().status().1, "circuit_open");
    assert!(world.run(&["breaker", "reset", "bash"]).err.starts_with("closed: tool `shell`"));
    assert_eq!(call().code, Some(0));
}

#[test]
fn a_policy_is_replayed_over_the_calls_of_the_last_days_and_only_what_changed_is_told() {
    let world = world();
    world.allowed(&["call", "pay", r#"{"n":1}"#]);
    world.allowed(&["call", "look"]);
    world.allowed(&["call", "pay", "--caller", "helper"]);
    let ran = world.on_mocks(&["policy", "replay", "--allow", "*", "--deny", "pay", "--json"]);
    let told: Vec<_> = ran.lines().iter().map(|line| (line["tool"].clone(), line["now"].clone())).collect();
    assert_eq!(told, [(json!("pay"), json!("refused")), (json!("pay"), json!("refused"))], "{ran:?}");
    assert!(ran.err.contains("2 of 3 calls in 3 runs"), "{}", ran.err);
    let strict = world.on_mocks(&["policy", "replay", "--allow", "*", "--deny", "pay", "--strict"]);
    assert_eq!(strict.code, Some(1), "{strict:?}");
    let same = world.on_mocks(&["policy", "replay", "--allow", "*", "--strict"]);
    assert_eq!((same.code, same.out.as_str()), (Some(0), ""), "{same:?}");
    let all = world.on_mocks(&["policy", "replay", "--allow", "*", "--all", "--json"]);
    assert_eq!(all.lines().len(), 3);
    assert_eq!(world.run(&["trace", "list", "--json"]).lines().len(), 3, "nothing ran");
}

#[test]
fn a_run_is_followed_while_it_goes_on() {
    use std::io::BufRead as _;
    let world = world();
    let turn = |n: u32| json!({"calls": [{"id": format!("c{n}"), "name": "look", "input": {}}], "context": {"run": "long", "turn": n}});
    let batch = ["batch", "--format", "plain", "--mocks", "mocks.json", "--allow", "*"];
    assert_eq!(world.feed(&batch, turn(1).to_string()).code, Some(0));
    let mut follower = world.command(&["trace", "show", "long", "--follow"]).spawn().unwrap();
    let lines = std::io::BufReader::new(follower.stdout.take().unwrap()).lines();
    let (tell, told) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        lines.map_while(Result::ok).take_while(|line| tell.send(line.clone()).is_ok()).for_each(drop);
    });
    let until = |part: &str| {
        let most = std::time::Duration::from_secs(60);
        while !told.recv_timeout(most).unwrap_or_else(|_| panic!("{part:?} was not shown")).contains(part) {}
    };
    until("c1  look  ok");
    assert_eq!(world.feed(&batch, turn(2).to_string()).code, Some(0));
    until("c2  look  ok");
    follower.kill().unwrap();
    follower.wait().unwrap();
    reader.join().unwrap();
}

#[test]
fn a_run_is_a_part_of_the_trace_the_environment_names() {
    let world = world();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let call = ["call", "pay", "--mocks", "mocks.json", "--allow", "*"];
    assert!(world.command(&call).env("TRACEPARENT", parent).output().unwrap().status.success());
    let spans =
        world.run(&["trace", "export", "--otlp"]).json()["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .clone();
    assert_eq!(spans[0]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(spans[0]["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(
        (&spans[1]["traceId"], &spans[1]["parentSpanId"]),
        (&spans[0]["traceId"], &spans[0]["spanId"])
    );
    // What is no traceparent stops nothing.
    assert!(world.command(&call).env("TRACEPARENT", "nonsense").output().unwrap().status.success());
}

#[test]
fn a_store_with_a_key_from_outside_opens_with_it_alone() {
    let world = world();
    let key = world.file("key", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
    let keyed = |args: &[&str]| {
        let output = world.command(args).env("TOLLGATE_STORE_KEY_FILE", &key).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(keyed(&["call", "pay", "--mocks", "mocks.json", "--allow", "*"]).0, Some(0));
    assert_eq!(keyed(&["trace", "verify"]).0, Some(0));
    assert!(!world.path().join(".local/share/tollgate/store.key").exists());
    let without = world.run(&["trace", "verify"]);
    assert!(without.code == Some(1) && without.err.contains("TOLLGATE_STORE_KEY_FILE"), "{without:?}");
    std::fs::write(&key, "too short").unwrap();
    let (code, err) = keyed(&["trace", "verify"]);
    assert!(code == Some(1) && err.contains("64 hexadecimal digits") && err.contains("hint: "), "{err}");
}

/// What the official schema makes of exported lines; and whether what was sent says the same. `None` without Python.
fn checked(exported: &str, sent: Option<&std::path::Path>) -> Option<std::process::Output> {
    let bin = crate::installed::python("spans, read as the official schema has them")?;
    let mut checker = std::process::Command::new(bin.join("python"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/otlp_check.py"))
        .args(sent)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    checker.stdin.take().unwrap().write_all(exported.as_bytes()).unwrap();
    Some(checker.wait_with_output().unwrap())
}

#[test]
fn exported_spans_are_what_the_official_schema_of_otlp_says() {
    let world = world();
    world.allowed(&["call", "pay", r#"{"n":7}"#]);
    world.on_mocks(&["call", "pay", "--deny", "pay"]);
    let exported = world.run(&["trace", "export", "--otlp"]);
    let Some(output) = checked(&exported.out, None) else { return };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    let names: Vec<&str> = out.lines().map(|line| line.trim_start_matches("invoke_agent ")).collect();
    assert_eq!(names.len(), 4, "{out}");
    assert!(names.contains(&"execute_tool pay 1") && names.contains(&"execute_tool pay 2"), "{out}");
}

#[test]
fn where_nothing_says_where_the_store_is_nothing_takes_effect() {
    let world = World::new();
    let mut write = world.command(&["call", "write", r#"{"path":"a","content":"x"}"#, "--allow", "write"]);
    let ran: Ran = write.env_remove("HOME").output().unwrap().into();
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("nothing says where the store is") && ran.err.contains("--no-store"), "{ran:?}");
    assert!(!world.path().join("a").exists());
    let unrecorded = ["call", "write", r#"{"path":"a","content":"x"}"#, "--allow", "write", "--no-store"];
    let ran: Ran = world.command(&unrecorded).env_remove("HOME").output().unwrap().into();
    assert!(ran.code == Some(0) && world.path().join("a").exists(), "{ran:?}");
}

#[test]
fn a_store_that_cannot_be_looked_at_is_not_an_empty_one() {
    let world = World::new();
    let home = world.file("file", "").join("home");
    let ran: Ran = world.command(&["trace", "list"]).env("TOLLGATE_HOME", home).output().unwrap().into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("cannot be used") && !ran.err.contains("nothing is recorded yet"), "{ran:?}");
}

#[test]
fn a_refused_call_that_names_the_first_line_of_a_key_is_shown_exported_and_verified() {
    let world = world();
    let ran = world.run(&["call", "read_file", r#"{"path":"/etc/-----BEGIN PRIVATE KEY"}"#]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let shown = world.run(&["trace", "show"]);
    assert!(shown.out.contains("read_file  refused") && shown.out.contains("outside_roots"), "{}", shown.out);
    let exported = world.run(&["trace", "export"]);
    assert!(exported.out.contains(r#""r":"call""#), "{}", exported.out);
    assert!(
        !exported.out.contains("unreadable") && !exported.err.contains("cannot be read"),
        "{}",
        exported.err
    );
    let verified = world.run(&["trace", "verify"]);
    assert!(verified.out.contains("whole: ") && !verified.out.contains("not readable"), "{}", verified.out);
}

#[test]
fn what_is_sent_says_in_protobuf_what_is_printed_in_json() {
    let world = world();
    world.allowed(&["call", "pay", r#"{"n":7}"#]);
    let (_, body) = sent(&world);
    let exported = world.run(&["trace", "export", "--otlp"]);
    let file = world.path().join("sent");
    std::fs::write(&file, body).unwrap();
    let Some(output) = checked(&exported.out, Some(&file)) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("execute_tool pay 1"), "{output:?}");
}
