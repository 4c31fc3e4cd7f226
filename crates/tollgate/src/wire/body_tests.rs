use super::{
    MAX_BODY_BYTES,
    Provider::{self, Anthropic, OpenAiChat, OpenAiResponses},
    Stop, WireError, read_turn,
    test_turns::{assert_can_be_sent_back, code, one_call, read},
};
use crate::outcome::RefusalCode;

#[test]
fn a_byte_order_mark_is_skipped_and_bytes_that_are_not_text_make_every_call_unreadable() {
    for provider in Provider::ALL {
        let body = one_call(provider, "\"c1\"", "\"read\"", r#"{"path":"a@b"}"#);
        let marked = [b"\xEF\xBB\xBF".as_slice(), body.as_bytes()].concat();
        assert_eq!(code(&read_turn(provider, &marked).unwrap()), None);
        let at = body.find('@').unwrap();
        let damaged = [&body.as_bytes()[..at], b"\xC0\xAF", &body.as_bytes()[at + 1..]].concat();
        let turn = read_turn(provider, &damaged).unwrap();
        assert_eq!(code(&turn), Some(RefusalCode::InvalidJson), "{provider}");
        assert_eq!(turn.calls[0].id.as_str(), "c1");
    }
}

#[test]
fn a_body_that_breaks_off_or_is_not_quite_json_has_its_calls_answered_and_none_run() {
    for provider in Provider::ALL {
        let body = one_call(provider, "\"c1\"", "\"read\"", r#"{"path":"é","n":[1,{"a":2}]}"#);
        let mut answered = 0;
        for end in 0..body.len() {
            if let Ok(turn) = read_turn(provider, &body.as_bytes()[..end]) {
                assert!(code(&turn).is_some());
                assert!(matches!(turn.stop, Stop::Failed(_)), "{:?}", turn.stop);
                answered += usize::from(turn.calls[0].id.as_str() == "c1");
            }
        }
        assert!(answered > 10, "{provider}: {answered}");
        let more = format!("{body} and more");
        assert_eq!(code(&read(provider, &more)), Some(RefusalCode::InvalidJson));
    }
    for odd in [
        r#"{"n":NaN}"#,
        r#"{"n":.5}"#,
        "{'n':1}",
        "{\"n\":1,}",
        "{\"n\":\"a\u{1}b\"}",
        "{\"n\":\"\\x\"}",
        "{n:1}",
    ] {
        let turn = read(Anthropic, &one_call(Anthropic, "\"c1\"", "\"read\"", odd));
        assert_eq!((code(&turn), turn.calls[0].id.as_str()), (Some(RefusalCode::InvalidJson), "c1"), "{odd}");
        assert_can_be_sent_back(Anthropic, &turn);
    }
}

#[test]
fn a_call_that_stands_where_none_belongs_is_answered_and_never_run() {
    let call = r#"{"type":"tool_use","id":"c1","name":"t","input":{}}"#;
    let item = r#"{"type":"function_call","call_id":"c1","name":"t","arguments":"{}"}"#;
    let entry = r#"{"id":"c1","type":"function","function":{"name":"t","arguments":"{}"}}"#;
    let cases = [
        (Anthropic, format!(r#"{{"role":"user","content":[{call}]}}"#)),
        (Anthropic, format!(r#"{{"role":"assistant","content":{call}}}"#)),
        (OpenAiResponses, format!(r#"{{"output":{item}}}"#)),
        (OpenAiChat, format!(r#"{{"role":"user","tool_calls":[{entry}]}}"#)),
        (OpenAiChat, format!(r#"{{"role":"assistant","tool_calls":{entry}}}"#)),
        (OpenAiChat, format!(r#"{{"choices":{{"message":{{"tool_calls":[{entry}]}}}}}}"#)),
    ];
    for (provider, body) in cases {
        let turn = read(provider, &body);
        assert_eq!(
            (code(&turn), turn.calls[0].id.as_str()),
            (Some(RefusalCode::ProtocolError), "c1"),
            "{body}"
        );
        assert_can_be_sent_back(provider, &turn);
    }
}

#[test]
fn a_body_that_is_no_turn_says_in_words_what_it_is() {
    let cases = [
        (Anthropic, "", "the answer is empty"),
        (Anthropic, " \n", "the answer is empty"),
        (
            OpenAiChat,
            "<html><body>502 Bad Gateway</body></html>",
            "the answer is not JSON (expected value in line 1); it begins with: \
             <html><body>502 Bad Gateway</body></html>",
        ),
        (
            OpenAiChat,
            "{\"choices\":[",
            "the answer is not JSON (EOF while parsing a list in line 1); it begins with: {\"choices\":[",
        ),
        (Anthropic, "7", "this is not a turn in the anthropic format: it is not an object"),
        (
            Anthropic,
            r#"{"choices":[]}"#,
            "this is not a turn in the anthropic format: it has no `content`; it looks like openai-chat",
        ),
        (
            Anthropic,
            r#"{"role":"user","content":"x"}"#,
            "this is not a turn in the anthropic format: its role is not `assistant`",
        ),
        (
            OpenAiResponses,
            r#"{"content":[]}"#,
            "this is not a turn in the openai-responses format: it has no `output`; it looks like anthropic",
        ),
        (
            OpenAiChat,
            r#"{"choices":[]}"#,
            "this is not a turn in the openai-chat format: its `choices` is empty",
        ),
        (
            Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "the provider answered overloaded_error: Overloaded",
        ),
        (
            OpenAiResponses,
            r#"{"error":{"message":"No such model","type":"invalid_request_error","code":null}}"#,
            "the provider answered invalid_request_error: No such model",
        ),
        (OpenAiChat, r#"{"error":"model not loaded"}"#, "the provider answered an error: model not loaded"),
    ];
    for (provider, body, expected) in cases {
        assert_eq!(read_turn(provider, body.as_bytes()).unwrap_err().to_string(), expected);
    }
    let huge = vec![b' '; MAX_BODY_BYTES + 1];
    assert!(matches!(read_turn(Anthropic, &huge), Err(WireError::TooLarge { .. })));
}
