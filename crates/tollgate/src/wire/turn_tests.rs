use serde_json::json;

use super::{
    MAX_CALLS,
    Provider::{self, Anthropic, OpenAiChat, OpenAiResponses},
    Stop, TurnReader, results_for,
    test_turns::{assert_can_be_sent_back, code, one_call, read},
};
use crate::outcome::{RefusalCode, Settled};

#[test]
fn a_call_is_found_with_its_id_name_and_the_very_text_of_its_arguments() {
    for provider in Provider::ALL {
        for arguments in
            [r#"{"a":1}"#, r#"{"a":1,"a":2}"#, r#"{ "n" : 1.0e400 , "s":"\ud800"}"#, "{}", "[1]", "7"]
        {
            let turn = read(provider, &one_call(provider, "\"c1\"", "\"read\"", arguments));
            assert_eq!(code(&turn), None, "{provider} {arguments}");
            let call = &turn.calls[0];
            assert_eq!((call.id.as_str(), &*call.name, call.input.as_str()), ("c1", "read", arguments));
            assert_eq!(turn.stop, Stop::ToolUse);
            assert_can_be_sent_back(provider, &turn);
        }
    }
}

#[test]
fn a_call_without_a_proper_id_is_answered_under_some_id_and_never_run() {
    let cases = [
        ("", "call_missing_1"),
        ("null", "call_missing_1"),
        ("\"\"", "call_missing_1"),
        ("{}", "call_missing_1"),
        ("[\"c1\"]", "call_missing_1"),
        ("\"\\ud800\"", "call_missing_1"),
        ("12345", "12345"),
        ("true", "true"),
    ];
    for provider in Provider::ALL {
        for (id, answered) in cases {
            let turn = read(provider, &one_call(provider, id, "\"read\"", "{}"));
            assert_eq!(code(&turn), Some(RefusalCode::ProtocolError), "{provider} {id}");
            assert_eq!(turn.calls[0].id.as_str(), answered, "{provider} {id}");
            assert_can_be_sent_back(provider, &turn);
        }
    }
}

#[test]
fn a_call_that_names_no_tool_is_answered_and_never_run() {
    for provider in Provider::ALL {
        for name in ["", "null", "42", "{}", "[]", "false"] {
            let turn = read(provider, &one_call(provider, "\"c1\"", name, "{}"));
            assert_eq!(code(&turn), Some(RefusalCode::ProtocolError), "{provider} {name}");
            assert_can_be_sent_back(provider, &turn);
        }
    }
}

#[test]
fn a_name_no_provider_takes_is_judged_as_written_and_sent_back_as_one_they_take() {
    let long = json!("x".repeat(100_000)).to_string();
    for provider in Provider::ALL {
        for name in ["\"\"", "\"../read\"", "\"read; rm -rf /\"", "\"read_f\u{456}le\"", &long] {
            let turn = read(provider, &one_call(provider, "\"c1\"", name, "{}"));
            assert_eq!(code(&turn), None);
            assert_eq!(json!(turn.calls[0].name).to_string(), name);
            assert_can_be_sent_back(provider, &turn);
        }
    }
}

#[test]
fn a_key_that_stands_twice_breaks_the_call_whichever_reader_would_win() {
    let double = |body: &str, from: &str, to: &str| {
        assert!(body.contains(from), "{from} is not in {body}");
        body.replacen(from, to, 1)
    };
    for provider in Provider::ALL {
        let body = one_call(provider, "\"c1\"", "\"read\"", "{}");
        let (id, arguments) = match provider {
            Anthropic => ("\"id\":\"c1\"", "\"input\":{}"),
            OpenAiResponses => ("\"call_id\":\"c1\"", "\"arguments\":\"{}\""),
            OpenAiChat => ("\"id\":\"c1\"", "\"arguments\":\"{}\""),
        };
        for field in [id, "\"name\":\"read\"", arguments] {
            let body = double(&body, field, &format!("{field},{field}"));
            assert_eq!(code(&read(provider, &body)), Some(RefusalCode::ProtocolError), "{body}");
        }
    }
    // Two kinds of block at once, two contents: a call for some readers is refused for all.
    for body in [
        r#"{"content":[{"type":"tool_use","type":"text","id":"c1","name":"read","input":{}}]}"#,
        r#"{"content":[{"type":"text","type":"tool_use","id":"c1","name":"read","input":{}}]}"#,
        r#"{"content":[{"type":"tool_use","id":"c1","name":"read","input":{}}],"content":[]}"#,
        r#"{"content":[],"content":[{"type":"tool_use","id":"c1","name":"read","input":{}}]}"#,
    ] {
        assert_eq!(code(&read(Anthropic, body)), Some(RefusalCode::ProtocolError), "{body}");
    }
    let twice =
        r#"{"output":[],"output":[{"type":"function_call","call_id":"c1","name":"read","arguments":"{}"}]}"#;
    assert_eq!(code(&read(OpenAiResponses, twice)), Some(RefusalCode::ProtocolError));
    let twice = r#"{"tool_calls":[],"tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{}"}}]}"#;
    assert_eq!(code(&read(OpenAiChat, twice)), Some(RefusalCode::ProtocolError));
}

#[test]
fn arguments_that_are_missing_or_not_where_they_belong_never_become_an_empty_object() {
    let anthropic = read(Anthropic, &one_call(Anthropic, "\"c1\"", "\"read\"", ""));
    assert_eq!(anthropic.calls[0].input.as_str(), "null");
    // What stands under `arguments`, the text it is judged by, and what the wire itself says.
    let cases = [
        ("\"\"", "", None),
        ("null", "null", None),
        ("7", "7", None),
        ("[]", "[]", None),
        ("{\"path\":\"a\"}", "{\"path\":\"a\"}", Some(RefusalCode::ProtocolError)),
        (
            "\"{\\\"a\\\":\\\"\\ud800\\\"}\"",
            "\"{\\\"a\\\":\\\"\\ud800\\\"}\"",
            Some(RefusalCode::InvalidJson),
        ),
    ];
    for (arguments, text, expected) in cases {
        let responses = format!(
            r#"{{"output":[{{"type":"function_call","call_id":"c1","name":"read","arguments":{arguments}}}]}}"#
        );
        let chat = format!(
            r#"{{"tool_calls":[{{"id":"c1","function":{{"name":"read","arguments":{arguments}}}}}]}}"#
        );
        for (provider, body) in [(OpenAiResponses, responses), (OpenAiChat, chat)] {
            let turn = read(provider, &body);
            assert_eq!(code(&turn), expected, "{body}");
            assert_eq!(turn.calls[0].input.as_str(), text, "{body}");
            assert_can_be_sent_back(provider, &turn);
        }
    }
    for provider in [OpenAiResponses, OpenAiChat] {
        let turn = read(provider, &one_call(provider, "\"c1\"", "\"read\"", ""));
        assert_eq!(turn.calls[0].input.as_str(), "");
    }
}

#[test]
fn arguments_may_be_deep_or_large_and_only_their_own_call_suffers() {
    let deep = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(10 << 20));
    for provider in Provider::ALL {
        for arguments in [&deep, &large] {
            let turn = read(provider, &one_call(provider, "\"c1\"", "\"read\"", arguments));
            assert_eq!(code(&turn), None);
            assert_eq!(turn.calls[0].input.as_str().len(), arguments.len());
            assert_can_be_sent_back(provider, &turn);
        }
    }
}

#[test]
fn every_word_for_stopping_has_its_meaning_and_a_cut_turn_runs_nothing() {
    let anthropic = |word: &str| {
        format!(
            r#"{{"content":[{{"type":"tool_use","id":"c1","name":"t","input":{{}}}}],"stop_reason":"{word}"}}"#
        )
    };
    let chat = |word: &str| {
        let call = r#"{"id":"c1","type":"function","function":{"name":"t","arguments":"{}"}}"#;
        format!(r#"{{"choices":[{{"message":{{"tool_calls":[{call}]}},"finish_reason":"{word}"}}]}}"#)
    };
    let responses = |rest: &str| {
        let call = r#"{"type":"function_call","call_id":"c1","name":"t","arguments":"{}"}"#;
        format!(r#"{{"output":[{call}],{rest}}}"#)
    };
    let cases = [
        (Anthropic, anthropic("tool_use"), Stop::ToolUse),
        (Anthropic, anthropic("end_turn"), Stop::ToolUse),
        (Anthropic, anthropic("pause_turn"), Stop::PauseTurn),
        (Anthropic, anthropic("stop_sequence"), Stop::StopSequence),
        (Anthropic, anthropic("max_tokens"), Stop::MaxTokens),
        (Anthropic, anthropic("refusal"), Stop::Refusal),
        (Anthropic, anthropic("model_context_window_exceeded"), Stop::ContextFull),
        (Anthropic, anthropic("moon"), Stop::Other("moon".to_owned())),
        (OpenAiChat, chat("tool_calls"), Stop::ToolUse),
        (OpenAiChat, chat("stop"), Stop::ToolUse),
        (OpenAiChat, chat(""), Stop::ToolUse),
        (OpenAiChat, chat("length"), Stop::MaxTokens),
        (OpenAiChat, chat("content_filter"), Stop::ContentFilter),
        (OpenAiChat, chat("moon"), Stop::Other("moon".to_owned())),
        (OpenAiResponses, responses(r#""status":"completed""#), Stop::ToolUse),
        (
            OpenAiResponses,
            responses(r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#),
            Stop::MaxTokens,
        ),
        (
            OpenAiResponses,
            responses(r#""status":"incomplete","incomplete_details":{"reason":"content_filter"}"#),
            Stop::ContentFilter,
        ),
        (
            OpenAiResponses,
            responses(r#""status":"failed","error":{"code":"server_error","message":"Oh"}"#),
            Stop::ProviderFailed { kind: "server_error".to_owned(), message: "Oh".to_owned() },
        ),
        (
            OpenAiResponses,
            responses(r#""status":"in_progress""#),
            Stop::Failed("the response is in_progress".to_owned()),
        ),
    ];
    for (provider, body, stop) in cases {
        let turn = read(provider, &body);
        assert_eq!(turn.stop, stop, "{body}");
        let expected = stop.is_cut().then_some(RefusalCode::ProtocolError);
        assert_eq!(code(&turn), expected, "{body}");
    }
}

#[test]
fn a_call_marked_as_not_whole_does_not_run_though_its_turn_is() {
    let body = r#"{"status":"completed","output":[
        {"type":"function_call","call_id":"c1","name":"t","arguments":"{}","status":"incomplete"}]}"#;
    assert_eq!(code(&read(OpenAiResponses, body)), Some(RefusalCode::ProtocolError));
}

#[test]
fn a_turn_that_waits_for_calls_and_has_none_says_so() {
    for (provider, body) in [
        (Anthropic, r#"{"role":"assistant","content":[],"stop_reason":"tool_use"}"#),
        (OpenAiChat, r#"{"choices":[{"message":{"content":"x"},"finish_reason":"tool_calls"}]}"#),
    ] {
        let turn = read(provider, body);
        assert!(turn.calls.is_empty());
        assert_eq!(turn.faults, ["The turn stopped to use a tool and holds no call."]);
    }
}

#[test]
fn of_too_many_calls_each_is_answered_and_none_runs() {
    let block = |n: usize| format!(r#"{{"type":"tool_use","id":"c{n}","name":"t","input":{{}}}}"#);
    let body =
        |count: usize| format!(r#"{{"content":[{}]}}"#, (0..count).map(block).collect::<Vec<_>>().join(","));
    let turn = read(Anthropic, &body(MAX_CALLS));
    assert!(turn.calls.iter().all(|call| call.fault().is_none()));
    let turn = read(Anthropic, &body(MAX_CALLS + 1));
    assert_eq!(turn.calls.len(), MAX_CALLS + 1);
    assert!(turn.calls.iter().all(|call| call.fault().is_some()));
}

#[test]
fn what_is_not_known_is_kept_as_it_came() {
    let body = r#"{"content":[{"type":"moon_phase","phase":0.5},{"type":"text","text":"Hi."},
        {"type":"text","text":""}],"stop_reason":"end_turn"}"#;
    let turn = read(Anthropic, body);
    assert_eq!(
        turn.message,
        json!({"role": "assistant", "content": [
            {"type": "moon_phase", "phase": 0.5}, {"type": "text", "text": "Hi."},
        ]})
    );
    assert_eq!((turn.text.as_str(), turn.stop), ("Hi.", Stop::EndTurn));

    let items = json!([{"type": "web_search_call", "id": "ws_1"}, {"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi."}]}]);
    let turn = read(OpenAiResponses, &items.to_string());
    assert_eq!((turn.message, turn.text.as_str()), (items, "Hi."));

    let body = json!({"choices": [{"message": {"role": "assistant", "content": null, "annotations": [],
        "reasoning_content": "Hm.", "tool_calls": [{"index": 0, "id": "c1", "function":
        {"name": "t", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "x"}}}]}}]});
    let turn = read(OpenAiChat, &body.to_string());
    assert_eq!(
        turn.message,
        json!({"role": "assistant", "reasoning_content": "Hm.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"},
                "extra_content": {"google": {"thought_signature": "x"}}},
        ]})
    );
}

#[test]
fn the_old_form_of_a_chat_call_has_no_id_and_is_only_answered() {
    let body = r#"{"role":"assistant","content":null,"function_call":{"name":"read","arguments":"{}"}}"#;
    assert_eq!(code(&read(OpenAiChat, body)), Some(RefusalCode::ProtocolError));
    let empty = r#"{"role":"assistant","content":"x","function_call":{"name":"","arguments":""}}"#;
    assert!(read(OpenAiChat, empty).calls.is_empty());
}

#[test]
fn a_call_with_free_text_is_answered_in_its_own_kind_and_never_run() {
    let item = json!({"type": "custom_tool_call", "call_id": "c1", "name": "read", "input": "any text"});
    let whole = json!({"status": "completed", "output": [item]}).to_string();
    let events = [
        json!({"type": "response.output_item.added", "output_index": 0, "item":
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "read", "input": ""}}),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "any text"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [item]}}),
    ];
    let mut reader = TurnReader::new(OpenAiResponses);
    events.iter().for_each(|event| drop(reader.push_event(&event.to_string())));
    for turn in [read(OpenAiResponses, &whole), reader.finish()] {
        assert_eq!(code(&turn), Some(RefusalCode::ProtocolError));
        assert_eq!(turn.message, json!([item]));
        assert_can_be_sent_back(OpenAiResponses, &turn);
        let answers = [Settled::vanished(turn.calls[0].id.clone())];
        let answer = results_for(OpenAiResponses, &turn.message, &answers);
        assert_eq!(
            (&answer[0]["type"], &answer[0]["call_id"]),
            (&json!("custom_tool_call_output"), &json!("c1"))
        );
    }
}
