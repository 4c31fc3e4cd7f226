//! Malformed calls: what the wire alone can tell about each case of the corpus, it tells.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;
use tollgate::{
    Proposed,
    call::MAX_INPUT_BYTES,
    json::{NotStrict, parse_strict},
    outcome::RefusalCode,
    wire::{ModelTurn, Provider, TurnReader, read_turn},
};

const CORPUS: &str = include_str!("corpus/toolcall.jsonl");

/// What the wire makes of a case.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Every call is marked `protocol_error`, or there is none and the turn says what is wrong, or an id is shared.
    ProtocolError,
    /// The arguments are marked `invalid_json`, or are not strict JSON.
    NotJson,
    TooLarge,
    /// Nothing here speaks against it; names and schemas are judged later.
    Readable,
}

fn cases() -> Vec<Value> {
    CORPUS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn provider(case: &Value) -> Provider {
    case["input"]["provider"].as_str().unwrap().replace('_', "-").parse().unwrap()
}

fn body(input: &Value) -> Option<Vec<u8>> {
    if let Some(raw) = input["raw"].as_str() {
        return Some(raw.as_bytes().to_vec());
    }
    if let Some(text) = input["raw_b64"].as_str() {
        return Some(from_base64(text));
    }
    let generated = input.get("gen")?;
    let count = usize::try_from(generated["count"].as_u64()?).ok()?;
    let part = |key: &str| generated[key].as_str().unwrap_or_default();
    let text = match generated.get("unit") {
        Some(_) => part("unit").repeat(count),
        None => part("unit_open").repeat(count) + part("core") + &part("unit_close").repeat(count),
    };
    Some(part("template").replace(part("replace"), &text).into_bytes())
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

/// The turn, read in every way the case can come.
fn turns(case: &Value) -> Vec<ModelTurn> {
    let (input, provider) = (&case["input"], provider(case));
    if let Some(body) = body(input) {
        return vec![read_turn(provider, &body).unwrap_or_else(|error| panic!("{}: {error}", case["id"]))];
    }
    let events = input["events"].as_array().unwrap();
    let lines: String = events.iter().flat_map(|event| [event.to_string(), "\n".to_owned()]).collect();
    let sse = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"]))
        .collect::<Vec<_>>()
        .concat();
    let mut one_by_one = TurnReader::new(provider);
    for event in events {
        one_by_one.push_event(&event.to_string());
    }
    let mut turns = vec![one_by_one.finish()];
    for text in [&lines, &sse] {
        let mut reader = TurnReader::new(provider);
        text.as_bytes().chunks(5).for_each(|chunk| drop(reader.push(chunk)));
        turns.push(reader.finish());
    }
    turns
}

fn verdict(turn: &ModelTurn) -> Verdict {
    let of_call = |call: &Proposed| match call.fault().map(|fault| fault.code) {
        Some(RefusalCode::ProtocolError) => Verdict::ProtocolError,
        Some(RefusalCode::InvalidJson) => Verdict::NotJson,
        Some(other) => panic!("{other}"),
        None => match parse_strict(call.input.as_str(), MAX_INPUT_BYTES) {
            Err(NotStrict::TooLong { .. } | NotStrict::TooDeep(_)) => Verdict::TooLarge,
            Err(_) => Verdict::NotJson,
            Ok(_) => Verdict::Readable,
        },
    };
    match &turn.calls[..] {
        [] if turn.faults.is_empty() => Verdict::Readable,
        [] => Verdict::ProtocolError,
        [first, second] if first.id == second.id => Verdict::ProtocolError,
        [call] => of_call(call),
        several => panic!("no case has {} calls", several.len()),
    }
}

fn expected(label: &str) -> Verdict {
    match label {
        "protocol_error" => Verdict::ProtocolError,
        "parse_error" => Verdict::NotJson,
        "too_large" => Verdict::TooLarge,
        "ok" | "schema_error" | "unknown_tool" | "semantic_error" => Verdict::Readable,
        other => panic!("a label this test does not know: {other}"),
    }
}

#[test]
fn every_case_is_as_labelled_as_far_as_the_wire_can_tell() {
    let cases = cases();
    assert_eq!(cases.len(), 48);
    for case in &cases {
        let mut good = vec![expected(case["label"].as_str().unwrap())];
        let accepted = case["accept"].as_array().into_iter().flatten();
        good.extend(accepted.map(|label| expected(label.as_str().unwrap())));
        for turn in turns(case) {
            let verdict = verdict(&turn);
            assert!(good.contains(&verdict), "{}: {verdict:?}, not {good:?}: {}", case["id"], case["why"]);
        }
    }
}

#[test]
fn every_call_is_found_with_the_id_it_came_with() {
    for case in cases() {
        let text = case["input"].to_string();
        for turn in turns(&case) {
            for call in &turn.calls {
                let made = call.id.as_str().starts_with("call_missing_");
                assert!(made || case["input"]["raw_b64"].is_string() || text.contains(call.id.as_str()));
                assert!(!made || call.fault().is_some(), "{}: a made id runs nothing", case["id"]);
            }
        }
    }
}

#[test]
fn a_turn_in_whatever_shape_leaves_a_history_that_is_accepted() {
    use tollgate::wire::{check, repair};
    for case in cases() {
        for turn in turns(&case) {
            let mut history = match turn.message {
                Value::Array(items) => items,
                message => vec![serde_json::json!({"role": "user", "content": "Go on."}), message],
            };
            repair(provider(&case), &mut history);
            assert_eq!(check(provider(&case), &history), Vec::<String>::new(), "{}", case["id"]);
        }
    }
}
