//! Malformed calls through the real program: every case of the corpus is answered as labelled.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

const CORPUS: &str = include_str!("../../tollgate/tests/corpus/toolcall.jsonl");

fn tools_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tollgate/tests/corpus/tools.json")
}

/// One way to feed a case to the program.
struct Feed {
    bytes: Vec<u8>,
    events: bool,
    way: &'static str,
}

fn feeds(input: &Value) -> Vec<Feed> {
    let whole = |bytes| vec![Feed { bytes, events: false, way: "whole" }];
    if let Some(raw) = input["raw"].as_str() {
        return whole(raw.as_bytes().to_vec());
    }
    if let Some(text) = input["raw_b64"].as_str() {
        return whole(from_base64(text));
    }
    if let Some(events) = input["events"].as_array() {
        let lines = events.iter().map(|event| format!("{event}\n")).collect::<Vec<_>>().concat();
        let name = |event: &Value| event["type"].as_str().unwrap_or("message").to_owned();
        let sse = events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event)));
        let sse = sse.collect::<Vec<_>>().concat();
        return [("lines", lines), ("sse", sse)]
            .into_iter()
            .map(|(way, text)| Feed { bytes: text.into_bytes(), events: true, way })
            .collect();
    }
    let generated = &input["gen"];
    let count = usize::try_from(generated["count"].as_u64().unwrap()).unwrap();
    let part = |key: &str| generated[key].as_str().unwrap_or_default();
    let text = match generated.get("unit") {
        Some(_) => part("unit").repeat(count),
        None => part("unit_open").repeat(count) + part("core") + &part("unit_close").repeat(count),
    };
    whole(part("template").replace(part("replace"), &text).into_bytes())
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        bits = bits << 6 | u32::try_from(digit).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xFF) as u8);
        }
    }
    bytes
}

fn batch(format: &str, context: Option<&Value>, feed: &Feed) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["batch", "--format", format, "--allow", "*", "--mocks"]).arg(tools_file());
    command.current_dir(home.path()).env_clear().env("HOME", home.path());
    if feed.events {
        command.arg("--events");
    }
    if let Some(context) = context {
        command.arg("--context").arg(context.to_string());
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = pipe.write_all(&feed.bytes);
        });
        child.wait_with_output().unwrap()
    })
}

/// What the program answered: the ids in order, and the label of each answer.
struct Answered {
    ids: Vec<String>,
    labels: Vec<&'static str>,
}

fn label_of(text: &str, is_error: bool) -> &'static str {
    if !is_error {
        return "ok";
    }
    let answer: Value = serde_json::from_str(text).expect("an error is told as JSON");
    match answer["code"].as_str().unwrap_or("no code") {
        "invalid_arguments" => "schema_error",
        "invalid_json" => "parse_error",
        "invalid_value" => "semantic_error",
        "unknown_tool" | "not_disclosed" => "unknown_tool",
        "too_large" => "too_large",
        "protocol_error" => "protocol_error",
        other => panic!("a code no case has: {other}"),
    }
}

/// Reads the message back as its provider would.
fn answered(format: &str, message: &Value) -> Answered {
    let mut found = Answered { ids: Vec::new(), labels: Vec::new() };
    let mut take = |id: &Value, text: &str, is_error: bool| {
        found.ids.extend(id.as_str().map(str::to_owned));
        found.labels.push(label_of(text, is_error));
    };
    let refused = |text: &str| text.starts_with("{\"status\":\"refused\"");
    match format {
        "anthropic" => {
            assert_eq!(message["role"], "user");
            for block in message["content"].as_array().unwrap() {
                match block["type"].as_str().unwrap() {
                    "tool_result" => {
                        let text = block["content"].as_str().unwrap();
                        take(&block["tool_use_id"], text, block["is_error"] == json!(true));
                    }
                    _ => take(&Value::Null, block["text"].as_str().unwrap(), true),
                }
            }
        }
        "openai-responses" => {
            for item in message.as_array().unwrap() {
                match item["type"].as_str().unwrap() {
                    "function_call_output" => {
                        let text = item["output"].as_str().unwrap();
                        take(&item["call_id"], text, refused(text));
                    }
                    _ => take(&Value::Null, item["content"][0]["text"].as_str().unwrap(), true),
                }
            }
        }
        "openai-chat" => {
            for item in message.as_array().unwrap() {
                let text = item["content"].as_str().unwrap();
                take(&item["tool_call_id"], text, item["role"] == "user" || refused(text));
            }
        }
        "plain" => {
            for result in message["results"].as_array().unwrap() {
                take(&result["id"], &result.to_string(), result["status"] != "ok");
            }
            for fault in message["faults"].as_array().into_iter().flatten() {
                take(&Value::Null, &fault.to_string(), true);
            }
        }
        other => panic!("no format {other}"),
    }
    found
}

/// What is wrong with the answer, if anything.
fn fault(format: &str, context: Option<&Value>, feed: &Feed, good: &[&str]) -> Option<String> {
    let output = batch(format, context, feed);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() != Some(0) {
        return Some(format!("exit {:?}: {err:.300}", output.status.code()));
    }
    let message: Value = serde_json::from_slice(&output.stdout).expect("the message is JSON");
    let Answered { ids, labels } = answered(format, &message);
    let mut once = ids.clone();
    once.dedup();
    if once != ids {
        return Some(format!("an id is answered twice: {ids:?}"));
    }
    match &labels[..] {
        [label] if good.contains(label) => None,
        _ => Some(format!("{labels:?}, not {good:?}: {message:.300} {err:.300}")),
    }
}

#[test]
fn every_case_is_answered_as_labelled_by_the_program() {
    let cases: Vec<Value> = CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), 48);
    let mut wrong = Vec::new();
    for case in &cases {
        let input = &case["input"];
        let format = input["provider"].as_str().unwrap().replace('_', "-");
        let mut good = vec![case["label"].as_str().unwrap()];
        good.extend(case["accept"].as_array().into_iter().flatten().filter_map(Value::as_str));
        for feed in feeds(input) {
            if let Some(fault) = fault(&format, input.get("context"), &feed, &good) {
                wrong.push(format!("{} ({}; {}): {fault}", case["id"], feed.way, case["why"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
