use serde_json::{Value, json};

use super::{
    MAX_CALLS, ModelTurn,
    Provider::{self, Anthropic, OpenAiChat, OpenAiResponses},
    Stop, TurnEvent, TurnReader, Usage,
};
use crate::outcome::RefusalCode;

const ANTHROPIC: &str = include_str!("../../tests/streams/anthropic.jsonl");
const RESPONSES: &str = include_str!("../../tests/streams/openai_responses.jsonl");
const CHAT: &str = include_str!("../../tests/streams/openai_chat.jsonl");
const CHAT_ODD: &str = include_str!("../../tests/streams/openai_chat_odd.jsonl");

const STREAMS: [(Provider, &str); 4] =
    [(Anthropic, ANTHROPIC), (OpenAiResponses, RESPONSES), (OpenAiChat, CHAT), (OpenAiChat, CHAT_ODD)];

fn sse(lines: &str) -> String {
    lines.lines().flat_map(|line| ["data: ", line, "\n\n"]).collect()
}

fn read(provider: Provider, text: &str) -> (Vec<TurnEvent>, ModelTurn) {
    let mut reader = TurnReader::new(provider);
    let events = reader.push(text.as_bytes());
    (events, reader.finish())
}

/// Id, name, arguments and fault of every call.
fn calls(turn: &ModelTurn) -> Vec<(&str, &str, &str, Option<RefusalCode>)> {
    let fault = |call: &crate::Proposed| call.fault().map(|fault| fault.code);
    turn.calls.iter().map(|call| (call.id.as_str(), &*call.name, call.input.as_str(), fault(call))).collect()
}

fn ready(events: &[TurnEvent]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::CallReady(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_whole_stream_is_a_whole_turn() {
    let (events, turn) = read(Anthropic, &sse(ANTHROPIC));
    assert_eq!(
        calls(&turn),
        [("toolu_1", "read", "{\"path\": \"café\\u00e9.txt\"}", None), ("toolu_2", "list", "{}", None),]
    );
    assert_eq!(ready(&events), ["toolu_1", "toolu_2"]);
    assert_eq!((turn.text.as_str(), &turn.stop), ("I read “both” — now.", &Stop::ToolUse));
    assert_eq!(turn.usage, Some(Usage { input_tokens: 10, output_tokens: 40, ..Usage::default() }));
    assert_eq!(
        turn.message,
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Two files.", "signature": "c2lnbmVk"},
            {"type": "text", "text": "I read “both” — now."},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "caféé.txt"}},
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}},
        ]})
    );

    let (events, turn) = read(OpenAiResponses, &sse(RESPONSES));
    assert_eq!(
        calls(&turn),
        [("call_1", "read", "{\"path\":\"a.txt\"}", None), ("call_2", "list", "{}", None)]
    );
    assert_eq!(ready(&events), ["call_1", "call_2"]);
    assert_eq!((turn.text.as_str(), &turn.stop), ("I read “both”.", &Stop::ToolUse));
    let last: Value = serde_json::from_str(RESPONSES.lines().last().unwrap()).unwrap();
    assert_eq!(turn.message, last["response"]["output"]);

    let (events, turn) = read(OpenAiChat, &sse(CHAT));
    assert_eq!(
        calls(&turn),
        [("call_1", "read", "{\"path\":\"a.txt\"}", None), ("call_2", "list", "{}", None)]
    );
    assert_eq!(ready(&events), ["call_1", "call_2"]);
    assert_eq!((turn.text.as_str(), &turn.stop), ("I read “both”.", &Stop::ToolUse));
    assert_eq!(
        turn.message,
        json!({"role": "assistant", "content": "I read “both”.", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a.txt\"}"}},
            {"id": "call_2", "type": "function", "function": {"name": "list", "arguments": "{}"}},
        ]})
    );
}

#[test]
fn every_chunking_and_both_ways_of_writing_events_down_give_the_same_turn() {
    for (provider, lines) in STREAMS {
        let (events, whole) = read(provider, &sse(lines));
        for text in [
            sse(lines),
            lines.to_owned(),
            sse(lines).replace('\n', "\r\n"),
            format!("\u{FEFF}{}", sse(lines)),
        ] {
            for size in [1, 2, 3, 5, 17, 1000] {
                let mut reader = TurnReader::new(provider);
                let seen: Vec<_> =
                    text.as_bytes().chunks(size).flat_map(|chunk| reader.push(chunk)).collect();
                assert_eq!(reader.finish(), whole, "{provider} in chunks of {size}");
                assert_eq!(seen, events, "{provider} in chunks of {size}");
            }
        }
        let mut reader = TurnReader::new(provider);
        let seen: Vec<_> = lines.lines().flat_map(|line| reader.push_event(line)).collect();
        assert_eq!((reader.finish(), seen), (whole, events));
    }
}

#[test]
fn a_call_is_never_ready_with_other_arguments_than_it_ends_with() {
    for (provider, lines) in STREAMS {
        let (events, turn) = read(provider, &sse(lines));
        for event in events {
            if let TurnEvent::CallReady(call) = event {
                assert!(turn.calls.contains(&call), "{call:?}");
            }
        }
    }
}

#[test]
fn a_stream_that_ends_early_is_cut_and_each_of_its_calls_is_answered() {
    for (provider, lines) in STREAMS {
        let whole = sse(lines);
        let (_, complete) = read(provider, &whole);
        for (end, _) in whole.char_indices() {
            let (_, turn) = read(provider, &whole[..end]);
            if turn.stop.is_cut() {
                assert!(turn.calls.iter().all(|call| call.fault().is_some()), "{provider} at {end}");
            } else {
                assert_eq!(turn.calls, complete.calls, "{provider} at {end}");
            }
        }
    }
}

#[test]
fn chat_servers_differ_and_are_understood() {
    let (events, turn) = read(OpenAiChat, &sse(CHAT_ODD));
    assert_eq!(
        calls(&turn),
        [
            ("call_1", "read", "{\"path\":\"a.txt\"}", None),
            ("call_2", "list", "{}", None),
            ("call_3", "list", "{\"deep\":true}", None),
        ]
    );
    assert_eq!(ready(&events), ["call_1", "call_2", "call_3"]);
    assert_eq!(turn.message["tool_calls"][2]["extra_content"], json!({"google": {"thought_signature": "x"}}));
    assert_eq!((turn.text.as_str(), &turn.stop), ("done", &Stop::ToolUse));

    let pieces = |pieces: &[&str]| {
        let chunk = |piece: &&str| format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{piece}]}}}}]}}\n");
        let text: String = pieces.iter().map(chunk).collect();
        read(OpenAiChat, &(text + "{\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n")).1
    };
    // The id in every piece.
    let turn = pieces(&[
        r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{\"x\""}}"#,
        r#"{"index":0,"id":"a","function":{"name":"t","arguments":":1}"}}"#,
    ]);
    assert_eq!(calls(&turn), [("a", "t", "{\"x\":1}", None)]);
    // An empty id in the later pieces, and two calls that grow in turn.
    let turn = pieces(&[
        r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{\"x\""}}"#,
        r#"{"index":1,"id":"b","function":{"name":"u","arguments":"{\"y\""}}"#,
        r#"{"index":0,"id":"","function":{"arguments":":1}"}}"#,
        r#"{"index":1,"id":null,"function":{"name":null,"arguments":":2}"}}"#,
    ]);
    assert_eq!(calls(&turn), [("a", "t", "{\"x\":1}", None), ("b", "u", "{\"y\":2}", None)]);
    // No index and no id in the later pieces.
    let turn = pieces(&[
        r#"{"id":"a","function":{"name":"t","arguments":"{"}}"#,
        r#"{"function":{"arguments":"}"}}"#,
        r#"{"id":"b","function":{"name":"t","arguments":"{}"}}"#,
    ]);
    assert_eq!(calls(&turn), [("a", "t", "{}", None), ("b", "t", "{}", None)]);
    // No ids at all: told apart, answered, not run.
    let turn = pieces(&[
        r#"{"function":{"name":"t","arguments":"{}"}}"#,
        r#"{"function":{"name":"t","arguments":"{\"x\":1}"}}"#,
    ]);
    let broken = Some(RefusalCode::ProtocolError);
    assert_eq!(
        calls(&turn),
        [("call_missing_1", "t", "{}", broken), ("call_missing_2", "t", "{\"x\":1}", broken)]
    );
    // An id that is a number.
    let turn = pieces(&[r#"{"index":0,"id":7,"function":{"name":"t","arguments":"{}"}}"#]);
    assert_eq!(calls(&turn), [("7", "t", "{}", broken)]);
    // Arguments that are no string.
    let turn = pieces(&[r#"{"index":0,"id":"a","function":{"name":"t","arguments":{"x":1}}}"#]);
    assert_eq!(calls(&turn), [("a", "t", "", broken)]);
    // Only the first choice is the turn.
    let text = "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"},\"finish_reason\":\"length\"},\
        {\"index\":0,\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n";
    let (_, turn) = read(OpenAiChat, text);
    assert_eq!((turn.text.as_str(), turn.stop), ("yes", Stop::EndTurn));
}

#[test]
fn what_a_stream_says_in_two_ways_runs_in_neither() {
    let broken = |provider, text: &str| {
        let (_, turn) = read(provider, text);
        assert!(!turn.calls.is_empty() && !turn.stop.is_cut(), "{turn:?}");
        turn.calls[0].fault().map(|fault| fault.code) == Some(RefusalCode::ProtocolError)
    };
    // Deltas and the whole differ; the item and the last event differ; the call changes its name.
    let sse = sse(RESPONSES);
    assert!(broken(OpenAiResponses, &sse.replacen("\\\"a.txt\\\"}", "\\\"b.txt\\\"}", 1)));
    assert!(broken(OpenAiResponses, &sse.replacen("\"name\":\"read\"", "\"name\":\"write\"", 1)));
    let at = sse.rfind("a.txt").unwrap();
    assert!(broken(OpenAiResponses, &format!("{}b.txt{}", &sse[..at], &sse[at + 5..])));
    // A block that begins with arguments and goes on with others, or goes on after its end.
    let text =
        ANTHROPIC.replace("\"name\":\"read\",\"input\":{}", "\"name\":\"read\",\"input\":{\"path\":\"b\"}");
    assert!(broken(Anthropic, &text));
    let end = "{\"type\":\"content_block_stop\",\"index\":2}\n";
    let more = "{\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\
        \"partial_json\":\" \"}}\n";
    assert!(broken(Anthropic, &ANTHROPIC.replace(end, &format!("{end}{more}"))));
    // A block that never ends.
    assert!(broken(Anthropic, &ANTHROPIC.replace(end, "")));
}

#[test]
fn a_call_only_the_last_event_knows_is_taken_from_it() {
    let last = RESPONSES.lines().last().unwrap();
    let (events, turn) = read(OpenAiResponses, &format!("{last}\n"));
    assert_eq!(
        calls(&turn),
        [("call_1", "read", "{\"path\":\"a.txt\"}", None), ("call_2", "list", "{}", None)]
    );
    assert_eq!(ready(&events), ["call_1", "call_2"]);
    assert_eq!(turn.text, "I read “both”.");
}

#[test]
fn an_error_or_a_bad_end_cuts_the_turn_and_says_why() {
    let begun = |provider: Provider| match provider {
        Anthropic => ANTHROPIC.split_inclusive('\n').take(14).collect::<String>(),
        OpenAiResponses => RESPONSES.split_inclusive('\n').take(14).collect(),
        OpenAiChat => CHAT.split_inclusive('\n').take(6).collect(),
    };
    let cases = [
        (
            Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "the provider failed with overloaded_error: Overloaded",
        ),
        (Anthropic, r#"{"type":"error"}"#, "the provider failed"),
        (Anthropic, r#"{"type":"message_start","message":{}}"#, "a second message began inside the turn"),
        (
            Anthropic,
            r#"{"type":"content_block_delta","index":9,"delta":{"partial_json":"x"}}"#,
            "a content block grew that had not begun",
        ),
        (
            Anthropic,
            r#"{"type":"content_block_stop","index":2,"index":3}"#,
            "an event of the stream cannot be read: {\"type\":\"content_block_stop\",\"index\":2,\"index\":3}",
        ),
        (Anthropic, "data: moon\n", "an event of the stream cannot be read: moon"),
        (Anthropic, "", "the stream ended before the turn did"),
        (
            OpenAiResponses,
            r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"Oh"}}}"#,
            "the provider failed with server_error: Oh",
        ),
        (
            OpenAiResponses,
            r#"{"type":"error","code":"rate_limit","message":"Slow down","param":null}"#,
            "the provider failed with rate_limit: Slow down",
        ),
        (
            OpenAiResponses,
            r#"{"type":"response.function_call_arguments.delta","delta":"x","output_index":9}"#,
            "arguments grew of a call that had not begun",
        ),
        (
            OpenAiChat,
            r#"{"error":{"message":"Oh","type":"server_error"}}"#,
            "the provider failed with server_error: Oh",
        ),
        (
            OpenAiChat,
            r#"{"error":{"message":"Oh","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            "the provider failed with context_length_exceeded: Oh",
        ),
        (OpenAiChat, "data: [DONE]\n", "the stream ended before the turn did"),
        (
            OpenAiChat,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}
{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
            "a call went on after the turn had finished",
        ),
    ];
    for (provider, bad, why) in cases {
        let (_, turn) = read(provider, &format!("{}{bad}\n\n", begun(provider)));
        let said = why.strip_prefix("the provider failed with ").and_then(|said| said.split_once(": "));
        let stop = match said {
            Some((kind, message)) => {
                Stop::ProviderFailed { kind: kind.to_owned(), message: message.to_owned() }
            }
            None => Stop::Failed(why.to_owned()),
        };
        assert_eq!(turn.stop, stop, "{bad}");
        assert!(!turn.calls.is_empty());
        for call in &turn.calls {
            let fault = call.fault().unwrap();
            assert_eq!(fault.code, RefusalCode::ProtocolError);
            assert_eq!(fault.reason, format!("The turn was cut: {why}. None of its calls ran."));
        }
    }
    let incomplete = r#"{"type":"response.incomplete","response":{"status":"incomplete",
        "incomplete_details":{"reason":"max_output_tokens"}}}"#;
    let (_, turn) =
        read(OpenAiResponses, &format!("{}{}\n", begun(OpenAiResponses), incomplete.replace('\n', "")));
    assert_eq!(turn.stop, Stop::MaxTokens);
    assert!(turn.calls.iter().all(|call| call.fault().is_some()));
}

#[test]
fn an_answer_that_is_no_stream_is_shown_by_its_beginning() {
    let (_, turn) = read(OpenAiChat, "<html>\n<head><title>502</title></head>\n");
    assert_eq!(turn.stop, Stop::Failed("no event came; the answer begins with: <html>".to_owned()));
    let whole = r#"{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}"#;
    let (_, turn) = read(OpenAiChat, whole);
    assert_eq!(turn.stop, Stop::Failed("a whole answer came where a stream was expected".to_owned()));
    let (_, turn) = read(OpenAiChat, "");
    assert_eq!(turn.stop, Stop::Failed("the stream was empty".to_owned()));
    let (_, turn) = read(Anthropic, "{\"error\":{\"type\":\"not_found_error\",\"message\":\"model: x\"}}");
    let (kind, message) = ("not_found_error".to_owned(), "model: x".to_owned());
    assert_eq!(turn.stop, Stop::ProviderFailed { kind, message });
}

#[test]
fn events_nobody_knows_are_ignored_whatever_they_hold() {
    for (provider, lines) in STREAMS {
        let (_, expected) = read(provider, lines);
        for odd in [
            r#"{"type":"moon_phase","index":"x","delta":7,"item":[],"choices":null}"#,
            r#"{"type":"moon_phase","error":null}"#,
        ] {
            let text: String = lines.lines().flat_map(|line| [odd, "\n", line, "\n"]).collect();
            let (events, turn) = read(provider, &text);
            assert_eq!(turn, expected, "{provider} {odd}");
            assert!(events.contains(&TurnEvent::Ignored("moon_phase".to_owned())), "{provider} {odd}");
        }
    }
}

#[test]
fn bytes_that_are_not_text_make_the_call_they_are_in_unreadable() {
    for (provider, lines, at, id) in [
        (Anthropic, ANTHROPIC, "caf", "toolu_1"),
        (OpenAiChat, CHAT, "a.txt", "call_1"),
        (OpenAiResponses, RESPONSES, "a.txt", "call_1"),
    ] {
        let text = sse(lines);
        let place = text.find(at).unwrap();
        let damaged = [&text.as_bytes()[..place], b"\xFF", &text.as_bytes()[place..]].concat();
        for size in [1, 3, 10_000] {
            let mut reader = TurnReader::new(provider);
            damaged.chunks(size).for_each(|chunk| drop(reader.push(chunk)));
            let turn = reader.finish();
            assert!(!turn.stop.is_cut());
            let faults: Vec<_> =
                calls(&turn).into_iter().map(|(id, _, _, fault)| (id, fault.is_some())).collect();
            assert_eq!(faults[0], (id, true), "{provider}");
            assert!(!faults[1].1, "{provider}: the other call is whole");
        }
    }
}

#[test]
fn a_stream_without_end_is_cut_and_keeps_a_bounded_amount() {
    let call = |n: usize| match n {
        0 => "{\"type\":\"message_start\"}\n".to_owned(),
        n => format!(
            "{{\"type\":\"content_block_start\",\"index\":{n},\"content_block\":\
             {{\"type\":\"tool_use\",\"id\":\"c{n}\",\"name\":\"t\",\"input\":{{}}}}}}\n"
        ),
    };
    let text: String = (0..=MAX_CALLS + 10).map(call).collect();
    let (_, turn) = read(Anthropic, &text);
    assert_eq!(turn.stop, Stop::Failed("it has more than the 1000 calls that are accepted".to_owned()));
    assert_eq!(turn.calls.len(), MAX_CALLS);
    assert!(turn.calls.iter().all(|call| call.fault().is_some()));

    let mut reader = TurnReader::new(OpenAiChat);
    let chunk = format!("{{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n", "x".repeat(1 << 20));
    let pushes = (0..200).take_while(|_| !reader.push(chunk.as_bytes()).is_empty()).count();
    assert!(pushes < 70, "{pushes} megabytes were taken");
    assert!(reader.finish().stop.is_cut());
}

#[test]
fn of_two_calls_that_share_a_block_index_none_runs() {
    let start = |id: &str| {
        json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "tool_use", "id": id, "name": "read", "input": {}}})
    };
    let stop = json!({"type": "content_block_stop", "index": 0});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}});
    let last = json!({"type": "message_stop"});
    for events in [
        vec![start("a"), stop.clone(), start("b"), stop.clone(), end.clone(), last.clone()],
        vec![start("a"), start("b"), stop, end, last],
    ] {
        let lines: Vec<_> = events.iter().map(Value::to_string).collect();
        let (_, turn) = read(Anthropic, &lines.join("\n"));
        let broken = Some(RefusalCode::ProtocolError);
        assert_eq!(calls(&turn), [("a", "read", "{}", broken), ("b", "read", "{}", broken)]);
    }
}
