//! Real exchanges: every recorded answer is read, streamed and not, in any chunks, and every recorded history is
//! left as it is.
//!
//! The recordings are not part of the project: `TOLLGATE_SHARED` names the folder that has `wire/recorded.jsonl`.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod skipped;

use serde_json::Value;
use skipped::skipped;
use tollgate::wire::{ModelTurn, Provider, Stop, TurnReader, WireError, check, read_turn, repair};

struct Exchange {
    line: usize,
    provider: Provider,
    status: u64,
    streamed: bool,
    request: Value,
    response: Value,
}

/// A call as an independent look at the recording finds it: id, name, arguments.
type Seen = (String, String, Value);

#[expect(clippy::disallowed_methods, reason = "a test finds its recordings through the environment")]
fn recordings() -> Vec<Exchange> {
    let Ok(folder) = std::env::var("TOLLGATE_SHARED") else {
        skipped("TOLLGATE_SHARED does not name the folder of the recordings");
        return Vec::new();
    };
    let text = std::fs::read_to_string(format!("{folder}/wire/recorded.jsonl")).expect("the recordings");
    text.lines()
        .enumerate()
        .map(|(line, text)| {
            let row: Value = serde_json::from_str(text).unwrap();
            Exchange {
                line,
                provider: row["proto"].as_str().unwrap().parse().unwrap(),
                status: row["status"].as_u64().unwrap(),
                streamed: row["stream"].as_bool().unwrap(),
                request: row["request"].clone(),
                response: row["response"].clone(),
            }
        })
        .collect()
}

fn calls_of(turn: &ModelTurn) -> Vec<Seen> {
    turn.calls
        .iter()
        .map(|call| {
            assert_eq!(call.fault(), None, "{call:?}");
            let arguments = serde_json::from_str(call.input.as_str()).unwrap();
            (call.id.to_string(), call.name.to_string(), arguments)
        })
        .collect()
}

fn read_stream<'a>(provider: Provider, chunks: impl Iterator<Item = &'a [u8]>) -> ModelTurn {
    let mut reader = TurnReader::new(provider);
    for chunk in chunks {
        reader.push(chunk);
    }
    reader.finish()
}

#[test]
fn every_whole_answer_is_read_with_every_call_in_it() {
    for exchange in recordings().iter().filter(|exchange| !exchange.streamed) {
        let body = exchange.response.to_string();
        let turn = read_turn(exchange.provider, body.as_bytes());
        if exchange.status != 200 {
            assert!(matches!(turn, Err(WireError::Provider { .. })), "line {}: {turn:?}", exchange.line);
            continue;
        }
        let turn = turn.unwrap_or_else(|error| panic!("line {}: {error}", exchange.line));
        let seen = whole_calls(exchange.provider, &exchange.response);
        assert_eq!(calls_of(&turn), seen, "line {}", exchange.line);
        assert_eq!(turn.text, whole_text(exchange.provider, &exchange.response), "line {}", exchange.line);
        assert_eq!(turn.faults, Vec::<String>::new(), "line {}", exchange.line);
        assert!(turn.usage.is_some_and(|usage| usage.output_tokens > 0), "line {}", exchange.line);
        assert_history_takes(exchange, &turn);
    }
}

#[test]
fn every_streamed_answer_is_read_with_every_call_in_it_in_any_chunks() {
    for exchange in recordings().iter().filter(|exchange| exchange.streamed) {
        let text = exchange.response.as_str().unwrap();
        let whole = read_stream(exchange.provider, [text.as_bytes()].into_iter());
        let cut = text.contains("event: error");
        assert_eq!(whole.stop.is_cut(), cut, "line {}: {:?}", exchange.line, whole.stop);
        if !cut {
            assert_eq!(calls_of(&whole), streamed_calls(exchange.provider, text), "line {}", exchange.line);
            assert!(!whole.text.is_empty() || whole.message.to_string().len() > 40, "line {}", exchange.line);
            assert_history_takes(exchange, &whole);
        }
        let bytewise = read_stream(exchange.provider, text.as_bytes().chunks(1));
        assert_eq!(bytewise, whole, "line {} in single bytes", exchange.line);
        let windows_style = text.replace('\n', "\r\n");
        let other_lines = read_stream(exchange.provider, windows_style.as_bytes().chunks(7));
        assert_eq!(other_lines, whole, "line {} with CRLF", exchange.line);
        let mut random = exchange.line as u64 + 1;
        for _ in 0..20 {
            let chunks = random_chunks(text.as_bytes(), &mut random);
            assert_eq!(read_stream(exchange.provider, chunks.into_iter()), whole, "line {}", exchange.line);
        }
    }
}

#[test]
fn a_stream_cut_anywhere_runs_nothing_unless_it_was_already_whole() {
    for exchange in recordings().iter().filter(|exchange| exchange.streamed) {
        let text = exchange.response.as_str().unwrap();
        let whole = read_stream(exchange.provider, [text.as_bytes()].into_iter());
        let step = (text.len() / 400).max(1);
        for end in (0..text.len()).step_by(step) {
            let turn = read_stream(exchange.provider, [&text.as_bytes()[..end]].into_iter());
            if turn.stop.is_cut() {
                assert!(
                    turn.calls.iter().all(|call| call.fault().is_some()),
                    "line {} at {end}",
                    exchange.line
                );
            } else {
                assert_eq!(turn.calls, whole.calls, "line {} at {end}", exchange.line);
            }
            assert_history_takes(exchange, &turn);
        }
    }
}

/// The recorded requests that are not left as they are, and why.
const EXCEPTIONS: [(usize, &str); 1] = [(
    58,
    "the provider itself refused this request: a thought with an id, and the message it led to without one. \
     The thought is left out.",
)];

#[test]
fn every_recorded_history_is_left_as_it_is() {
    let recordings = recordings();
    for exchange in &recordings {
        let list = exchange.request.get("messages").or_else(|| exchange.request.get("input")).unwrap();
        let history = list.as_array().unwrap().clone();
        let mut repaired = history.clone();
        let report = repair(exchange.provider, &mut repaired);
        let faults = check(exchange.provider, &history);
        if EXCEPTIONS.iter().any(|(line, _)| *line == exchange.line) {
            assert!(!faults.is_empty() && !report.is_clean(), "line {} is no exception", exchange.line);
            assert_eq!(check(exchange.provider, &repaired), Vec::<String>::new());
            continue;
        }
        assert_eq!(faults, Vec::<String>::new(), "line {}", exchange.line);
        assert!(report.is_clean(), "line {}: {report:?}", exchange.line);
        let (before, after) = (Value::Array(history).to_string(), Value::Array(repaired).to_string());
        assert_eq!(before, after, "line {}", exchange.line);
    }
}

/// The turn, put after its own history and repaired, is a history the provider takes.
fn assert_history_takes(exchange: &Exchange, turn: &ModelTurn) {
    let list = exchange.request.get("messages").or_else(|| exchange.request.get("input")).unwrap();
    let mut history = list.as_array().unwrap().clone();
    match &turn.message {
        Value::Array(items) => history.extend(items.iter().cloned()),
        message => history.push(message.clone()),
    }
    repair(exchange.provider, &mut history);
    assert_eq!(check(exchange.provider, &history), Vec::<String>::new(), "line {}", exchange.line);
}

fn random_chunks<'a>(mut bytes: &'a [u8], random: &mut u64) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let size = usize::try_from(*random % 300).unwrap() + 1;
        let (chunk, rest) = bytes.split_at(size.min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}

// An independent look at the recordings: plain values, no code of the wire.

fn text_at<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn json_at(value: &Value, key: &str) -> Value {
    serde_json::from_str(text_at(value, key)).unwrap()
}

fn whole_calls(provider: Provider, body: &Value) -> Vec<Seen> {
    let of_kind = |list: &Value, kind: &str| -> Vec<Value> {
        list.as_array().into_iter().flatten().filter(|item| item["type"] == kind).cloned().collect()
    };
    match provider {
        Provider::Anthropic => of_kind(&body["content"], "tool_use")
            .iter()
            .map(|block| (text_at(block, "id").into(), text_at(block, "name").into(), block["input"].clone()))
            .collect(),
        Provider::OpenAiResponses => of_kind(&body["output"], "function_call")
            .iter()
            .map(|item| {
                (text_at(item, "call_id").into(), text_at(item, "name").into(), json_at(item, "arguments"))
            })
            .collect(),
        Provider::OpenAiChat => body["choices"][0]["message"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| {
                let function = &call["function"];
                (text_at(call, "id").into(), text_at(function, "name").into(), json_at(function, "arguments"))
            })
            .collect(),
    }
}

fn whole_text(provider: Provider, body: &Value) -> String {
    let texts = |list: &Value| -> String {
        list.as_array().into_iter().flatten().map(|part| text_at(part, "text")).collect()
    };
    match provider {
        Provider::Anthropic => texts(&body["content"]),
        Provider::OpenAiResponses => {
            body["output"].as_array().unwrap().iter().map(|item| texts(&item["content"])).collect()
        }
        Provider::OpenAiChat => text_at(&body["choices"][0]["message"], "content").to_owned(),
    }
}

fn streamed_calls(provider: Provider, text: &str) -> Vec<Seen> {
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    match provider {
        Provider::Anthropic => events
            .iter()
            .filter(|event| event["content_block"]["type"] == "tool_use")
            .map(|start| {
                let block = &start["content_block"];
                let parts = events
                    .iter()
                    .filter(|event| event["index"] == start["index"])
                    .map(|event| text_at(&event["delta"], "partial_json"));
                let joined: String = parts.collect();
                let input = if joined.is_empty() { "{}" } else { &joined };
                let input = serde_json::from_str(input).unwrap();
                (text_at(block, "id").into(), text_at(block, "name").into(), input)
            })
            .collect(),
        Provider::OpenAiResponses => {
            let last = events.iter().find(|event| event["type"] == "response.completed").unwrap();
            whole_calls(provider, &last["response"])
        }
        Provider::OpenAiChat => {
            let pieces: Vec<&Value> = events
                .iter()
                .flat_map(|event| event["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten())
                .collect();
            let begun = pieces.iter().filter(|piece| piece["id"].is_string());
            begun
                .map(|first| {
                    let parts = pieces.iter().filter(|piece| piece["index"] == first["index"]);
                    let joined: String =
                        parts.map(|piece| text_at(&piece["function"], "arguments")).collect();
                    let name = text_at(&first["function"], "name");
                    (text_at(first, "id").into(), name.into(), serde_json::from_str(&joined).unwrap())
                })
                .collect()
        }
    }
}

#[test]
fn the_recordings_hold_what_they_are_here_for() {
    let recordings = recordings();
    if recordings.is_empty() {
        return;
    }
    let turns: Vec<ModelTurn> = recordings
        .iter()
        .filter(|exchange| exchange.status == 200)
        .map(|exchange| match exchange.response.as_str() {
            Some(text) => read_stream(exchange.provider, [text.as_bytes()].into_iter()),
            None => read_turn(exchange.provider, exchange.response.to_string().as_bytes()).unwrap(),
        })
        .collect();
    let calls: usize = turns.iter().map(|turn| turn.calls.len()).sum();
    let cut = turns
        .iter()
        .filter(|turn| matches!(turn.stop, Stop::ProviderFailed { .. } | Stop::Failed(_) | Stop::MaxTokens))
        .count();
    println!("{} exchanges, {calls} calls, {cut} cut turns", recordings.len());
    assert!(recordings.len() >= 84 && calls >= 30 && cut >= 2, "{calls} calls, {cut} cut");
}
