use super::*;

fn error_of(text: &str) -> (Option<String>, i32) {
    let (id, error) = Message::read(text.as_bytes()).unwrap_err();
    (id.map(|id| id.raw().to_owned()), error.code)
}

#[test]
fn a_request_keeps_its_id_as_it_was_written() {
    for id in ["1", "-7", "\"a\\u0041\"", "\"\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let Ok(Message::Request(request)) = Message::read(text.as_bytes()) else { panic!("{text}") };
        assert_eq!(request.id.raw(), id);
        let answer = answer(request.id, |out| out.extend_from_slice(b"{}"));
        assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into_bytes());
    }
}

#[test]
fn what_is_no_message_is_answered_with_the_protocols_own_error() {
    let cases = [
        ("", None, code::PARSE),
        ("{", None, code::PARSE),
        ("nonsense", None, code::PARSE),
        ("5", None, code::INVALID_REQUEST),
        ("[]", None, code::INVALID_REQUEST),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, None, code::INVALID_REQUEST),
        (r#"{"id":1,"method":"ping"}"#, Some("1"), code::INVALID_REQUEST),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Some("1"), code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1}"#, Some("1"), code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, None, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, None, code::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, Some("1"), code::INVALID_PARAMS),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, Some("1"), code::INVALID_REQUEST),
    ];
    for (text, id, code) in cases {
        assert_eq!(error_of(text), (id.map(str::to_owned), code), "{text}");
    }
}

#[test]
fn an_id_of_null_makes_a_notification_that_nothing_is_done_for() {
    let text = r#"{"jsonrpc":"2.0","id":null,"method":"tools/call"}"#;
    assert!(matches!(Message::read(text.as_bytes()), Ok(Message::Notification { .. })));
}
