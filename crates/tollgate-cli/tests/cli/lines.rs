use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};

use crate::world::{Ran, World, tools};

const FEED: [&str; 6] = ["explain", "--jsonl", "--mocks", "mocks.json", "--allow", "*"];

fn world() -> World {
    World::with(&tools(&[("a", json!({})), ("b", json!({}))]))
}

fn told(ran: &Ran) -> Vec<(String, String, String, String)> {
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let line =
        |line: &Value| (text(line, "id"), text(line, "status"), text(line, "code"), text(line, "phase"));
    ran.lines().iter().map(line).collect()
}

#[test]
fn every_line_is_explained_in_order_from_stdin_or_a_file() {
    let world = world();
    let mut calls = String::new();
    for at in 0..1_000 {
        let tool = if at % 3 == 0 { "b" } else { "a" };
        writeln!(calls, r#"{{"id":"c{at}","tool":"{tool}","input":{{"n":{at}}}}}"#).unwrap();
    }
    let args = ["explain", "--jsonl", "-", "--mocks", "mocks.json", "--allow", "a", "--deny", "b"];
    let ran = world.feed(&args, &calls);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let lines = ran.lines();
    assert_eq!(lines.len(), 1_000);
    for (at, line) in lines.iter().enumerate() {
        let decision = if at % 3 == 0 { "deny" } else { "allow" };
        assert_eq!((&line["id"], &line["decision"]), (&json!(format!("c{at}")), &json!(decision)));
    }
    world.file("calls.jsonl", &calls);
    let args = ["explain", "--jsonl", "calls.jsonl", "--mocks", "mocks.json", "--allow", "a", "--deny", "b"];
    assert_eq!(world.run(&args).out, ran.out);
}

#[test]
fn a_bad_line_is_answered_as_bad_under_its_own_id_and_the_next_is_read() {
    let cases: &[(&[u8], &str, &str, &str)] = &[
        (b"nonsense", "line-1", "invalid_json", "validate"),
        (br#"{"id":"x1","tool":"a","input":{"n":NaN}}"#, "x1", "invalid_json", "validate"),
        (br#"{"id":"x2","tool":"a","input":{"n":1}"#, "x2", "invalid_json", "validate"),
        (br#"{"id":"x3","tool":"a","input":{"n":1}} {}"#, "x3", "invalid_json", "validate"),
        (b"{\"id\":\"x4\",\"tool\":\"a\",\"input\":{\"n\":\"\xff\"}}", "x4", "invalid_json", "validate"),
        (br#"{"id":"x5","tool":"a","input":{"n":1,"n":2}}"#, "x5", "invalid_json", "validate"),
        (br#"{"id":"x6","tool":"a","input":{"n":"\ud800"}}"#, "x6", "invalid_json", "validate"),
        (br#"{"id":"x7","tool":"a"}"#, "x7", "invalid_json", "validate"),
        (b"[1]", "line-9", "protocol_error", "resolve"),
        (br#"{"id":"x8"}"#, "x8", "protocol_error", "resolve"),
        (br#"{"id":"x9","tool":5,"input":{}}"#, "x9", "protocol_error", "resolve"),
        (br#"{"id":7,"tool":"a","input":{}}"#, "7", "protocol_error", "resolve"),
        (br#"{"id":"xa","tool":"a","tool":"b","input":{}}"#, "xa", "protocol_error", "resolve"),
        (br#"{"id":"xb","tool":"a","input":{},"input":{}}"#, "xb", "protocol_error", "resolve"),
        (br#"{"id":"xc","tool":"nothing","input":{}}"#, "xc", "unknown_tool", "resolve"),
        (br#"{"id":"xd","tool":"a","input":[]}"#, "xd", "invalid_arguments", "validate"),
    ];
    let mut bytes = Vec::new();
    for (line, ..) in cases {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(
        b"\n  \n{\"tool\":\"a\",\"input\":{},\"note\":\"unknown fields are nobody's business\"}",
    );
    let ran = world().feed(&FEED, &bytes);
    assert_eq!(ran.code, Some(0));
    let mut expected: Vec<_> = cases
        .iter()
        .map(|(_, id, code, phase)| {
            ((*id).to_owned(), "refused".to_owned(), (*code).to_owned(), (*phase).to_owned())
        })
        .collect();
    // The last has no id and gets one; the empty lines before it are counted and not answered.
    expected.push(("line-19".to_owned(), "ok".to_owned(), String::new(), "execute".to_owned()));
    assert_eq!(told(&ran), expected);
    for line in ran.lines() {
        assert!(line["effects"].is_object() && line["decision"].is_string(), "{line}");
    }
}

#[test]
fn a_line_too_long_or_too_deep_is_too_large_and_the_next_is_read() {
    let long = format!(r#"{{"id":"long","tool":"a","input":{{"n":"{}"}}}}"#, "x".repeat(10 << 20));
    let deep =
        format!(r#"{{"id":"deep","tool":"a","input":{}1{}}}"#, r#"{"n":"#.repeat(10_000), "}".repeat(10_000));
    let arguments = format!(r#"{{"id":"args","tool":"a","input":{{"n":"{}"}}}}"#, "x".repeat((4 << 20) + 1));
    let last = r#"{"id":"last","tool":"a","input":{}}"#;
    let ran = world().feed(&FEED, [long.as_str(), &deep, &arguments, last].join("\n"));
    let codes: Vec<_> = told(&ran).into_iter().map(|(id, _, code, _)| (id, code)).collect();
    let expected = [("long", "too_large"), ("deep", "too_large"), ("args", "too_large"), ("last", "")];
    assert_eq!(codes, expected.map(|(id, code)| (id.to_owned(), code.to_owned())));
}

#[test]
fn whoever_feeds_one_line_at_a_time_gets_each_answer_before_the_next_line() {
    let world = world();
    let mut child = world.command(&FEED).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for at in 0..3 {
        writeln!(pipe, r#"{{"id":"c{at}","tool":"a","input":{{}}}}"#).unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], json!(format!("c{at}")));
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(pipe);
    assert!(answers.next().is_none());
    assert!(child.wait().unwrap().success());
}
