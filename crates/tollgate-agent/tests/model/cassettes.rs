//! A conversation that was recorded is had again, and where it departs that is said.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate::wire::{Provider, Stop, TurnEvent, Usage};
use tollgate_agent::{
    cassette::{Cassette, Places, Recorder},
    model::{ErrorKind, Model, ModelError, Step},
    open,
    price::Models,
    provider::{Api, Settings},
    standin::{Say, StandIn},
};

use crate::support::{APIS, answer, ask, broken, name, steps, user};

const HAND_WRITTEN: &str = r#"
{"cassette":1,"provider":"anthropic","model":"anthropic:claude-sonnet-4-5"}
{"user":"make the tests pass"}
{"assistant":"I look first.","calls":[{"id":"c1","name":"read","input":{"path":"{{cwd}}/a"}},{"id":"c2","name":"shell","input":{"command":"rm -rf /"}}]}
{"result":"c1","status":"ok","says":"fn {{anything}}()"}
{"result":"c2","status":"refused","code":"denied"}
{"assistant":"Done: they pass.","usage":{"input_tokens":812,"output_tokens":9}}
"#;

fn cassette(text: &str) -> Cassette {
    Cassette::read("cassette:demo.jsonl", text.trim(), Places::new().with("cwd", "/home/me/\"proj\""))
        .unwrap()
}

fn refused(code: &str) -> String {
    json!({"status": "refused", "code": code, "reason": "No."}).to_string()
}

/// The results of c1 and c2 as a message.
fn results(c1: &str, c2: &str) -> Value {
    json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": c1},
        {"type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": c2},
    ]})
}

async fn first(cassette: &Cassette) -> Vec<Value> {
    let mut messages =
        vec![user(Api::Anthropic, "Please make  the\ntests pass. (In /somewhere, on a Monday.)")];
    let turn = cassette.ask(ask(Api::Anthropic, messages.clone())).turn().await.unwrap();
    assert_eq!(turn.calls[0].input.as_str(), r#"{"path":"/home/me/\"proj\"/a"}"#);
    messages.push(turn.message);
    messages
}

#[tokio::test]
async fn a_cassette_written_by_hand_plays_whatever_stands_around_its_words() {
    let cassette = cassette(HAND_WRITTEN);
    let mut messages = first(&cassette).await;
    messages.push(results("pub fn main() {}", &refused("denied")));
    let mut steps = steps(cassette.ask(ask(Api::Anthropic, messages))).await;
    let Some(Step::Done(turn)) = steps.pop() else { panic!("{steps:?}") };
    assert_eq!((turn.text.as_str(), &turn.stop), ("Done: they pass.", &Stop::EndTurn));
    assert_eq!(turn.usage.unwrap().input_tokens, 812);
    let deltas = steps.iter().filter(|step| matches!(step, Step::Event(TurnEvent::TextDelta(_)))).count();
    assert_eq!((deltas, cassette.left()), (3, 0));
    let cost = Models::builtin().cost(cassette.priced_as(), Provider::Anthropic, &turn.usage.unwrap());
    assert_eq!(cost.unwrap().to_string(), "$0.0026");
}

#[tokio::test]
async fn a_departure_says_which_line_what_was_expected_and_what_came() {
    let denied = refused("denied");
    let cases = [
        (
            results("a page", &denied),
            "line 4 has the result of call `c1` say “fn {{anything}}()”, and in message 3 it says “a page”",
        ),
        (
            results("fn x()", &refused("not_enabled")),
            "line 5 has the result of call `c2` with the code `denied`, and in message 3 it is `refused` (not_enabled)",
        ),
        (
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "fn x()"}, {"type": "tool_result", "tool_use_id": "c2", "content": "gone"}]}),
            "line 5 has the result of call `c2` as `refused`, and in message 3 it is `ok`",
        ),
        (
            json!({"role": "user", "content": "never mind"}),
            "line 4 has the result of call `c1`, and message 3 brings “never mind”",
        ),
    ];
    for (message, words) in cases {
        let cassette = cassette(HAND_WRITTEN);
        let mut messages = first(&cassette).await;
        messages.push(message);
        let error = broken(cassette.ask(ask(Api::Anthropic, messages))).await.error;
        assert_eq!(error.kind(), ErrorKind::Departed);
        assert!(error.to_string().contains(words), "{error}\n{words}");
        assert!(error.hint().contains("--record"));
    }
    let other = vec![user(Api::Anthropic, "write a poem")];
    let error = broken(cassette(HAND_WRITTEN).ask(ask(Api::Anthropic, other))).await.error;
    assert!(
        error
            .to_string()
            .contains("has the user say “make the tests pass”, and message 1 brings “write a poem”"),
        "{error}"
    );
}

#[tokio::test]
async fn a_conversation_that_goes_on_after_the_end_is_told_so() {
    let cassette =
        cassette("{\"cassette\":1,\"provider\":\"openai-chat\"}\n{\"user\":\"hi\"}\n{\"assistant\":\"Hi.\"}");
    let hi = vec![user(Api::Chat, "hi")];
    cassette.ask(ask(Api::Chat, hi.clone())).turn().await.unwrap();
    let error = broken(cassette.ask(ask(Api::Chat, hi))).await.error;
    assert!(
        error.to_string().contains("has ended after 1 replies, and the conversation goes on with “hi”"),
        "{error}"
    );
}

#[tokio::test]
async fn what_was_recorded_from_any_api_plays_again_in_another_folder_and_holds_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let standin = StandIn::start().await.unwrap();
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    for api in APIS {
        let file = folder.path().join(format!("{}.jsonl", api.as_str()));
        let usage = Usage { input_tokens: 5, output_tokens: 6, ..Usage::default() };
        standin
            .say(Say::overloaded())
            .say(
                Say::text(&format!("I look in /home/rec/proj. {secret}"))
                    .call("c1", "read", r#"{"path":"/home/rec/proj/a"}"#)
                    .usage(usage),
            )
            .say(Say::text("").call("c2", "read", "{}"))
            .say(Say::text("It is cut").stop(match api {
                Api::Anthropic => "max_tokens",
                Api::OpenAi => "max_output_tokens",
                Api::Chat => "length",
            }));
        let places = Places::new().with("cwd", "/home/rec/proj").without(StandIn::key());
        let recorder = Recorder::new(Arc::new(standin.model(name(api))), &file, places).unwrap();
        let recorded = converse(&recorder, api, "/home/rec/proj").await;

        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            !text.contains(secret) && !text.contains(StandIn::key()) && !text.contains("/home/rec"),
            "{text}"
        );
        assert!(!text.contains("Be brief"), "{text}");
        assert_eq!(text.lines().count(), 7, "{text}");

        let name = format!("cassette:{}", file.display());
        let places = Places::new().with("cwd", "/tmp/elsewhere");
        let played = open(&name, Settings::default(), &Models::builtin(), places).unwrap();
        assert_eq!(played.provider(), api.provider());
        let again = converse(&*played, api, "/tmp/elsewhere").await;
        assert_eq!(again.len(), recorded.len());
        for (again, recorded) in again.iter().zip(&recorded) {
            let inputs = |turn: &tollgate::wire::ModelTurn| {
                turn.calls
                    .iter()
                    .map(|call| {
                        (
                            call.id.to_string(),
                            call.name.clone(),
                            call.input.as_str().replace("/home/rec/proj", "/tmp/elsewhere"),
                        )
                    })
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                (inputs(again), &again.stop, again.usage),
                (inputs(recorded), &recorded.stop, recorded.usage)
            );
        }
    }
    assert_eq!(standin.refused(), []);
}

async fn converse(model: &dyn Model, api: Api, folder: &str) -> Vec<tollgate::wire::ModelTurn> {
    let mut messages = vec![user(api, &format!("Work in {folder}."))];
    let mut turns = Vec::new();
    for id in ["c1", "c2"] {
        let turn = model.ask(ask(api, messages.clone())).turn().await.unwrap();
        answer(
            api.provider(),
            &mut messages,
            &turn.message,
            &[(id, &format!("in {folder}, at {:?}", std::time::Instant::now()))],
        );
        turns.push(turn);
    }
    turns.push(model.ask(ask(api, messages)).turn().await.unwrap());
    turns
}

#[tokio::test]
async fn conversations_side_by_side_and_resumed_ones_find_their_own_replies() {
    let text = "{\"cassette\":1,\"provider\":\"openai-chat\"}\n{\"user\":\"one\"}\n{\"assistant\":\"1\",\"calls\":[{\"id\":\"a\",\"name\":\"read\",\"input\":{}}]}\n{\"user\":\"two\"}\n{\"assistant\":\"2\"}\n{\"result\":\"a\"}\n{\"assistant\":\"3\"}";
    let played = cassette(text);
    let two = played.ask(ask(Api::Chat, vec![user(Api::Chat, "two")])).turn().await.unwrap();
    let mut messages = vec![user(Api::Chat, "one")];
    let one = played.ask(ask(Api::Chat, messages.clone())).turn().await.unwrap();
    answer(Provider::OpenAiChat, &mut messages, &one.message, &[("a", "x")]);
    assert_eq!((two.text.as_str(), one.text.as_str()), ("2", "1"));
    assert_eq!(played.ask(ask(Api::Chat, messages.clone())).turn().await.unwrap().text, "3");
    // Another process takes the conversation up in its middle.
    assert_eq!(cassette(text).ask(ask(Api::Chat, messages)).turn().await.unwrap().text, "3");
}

#[test]
fn a_cassette_that_cannot_be_used_is_told_by_the_line() {
    let head = "{\"cassette\":1,\"provider\":\"anthropic\"}\n";
    let cases = [
        (String::new(), "line 1", "nothing in it"),
        ("{\"cassette\":2,\"provider\":\"anthropic\"}".to_owned(), "line 1", "version 2"),
        ("{\"cassette\":1,\"provider\":\"moon\"}".to_owned(), "line 1", "moon"),
        (format!("{head}{{\"says\":\"x\"}}"), "line 2", "none of `user`"),
        (format!("{head}{{\"user\":\"x\",\"extra\":1}}\n"), "line 2", "extra"),
        (format!("{head}\n{{\"user\":\"x\"}}"), "line 3", "no assistant line"),
        (format!("{head}{{\"user\":"), "line 2", "EOF"),
        (format!("{head}{{\"fails\":\"moon\"}}"), "line 2", "no kind of failure"),
        (format!("{head}{{\"assistant\":\"x\",\"stop\":\"moon\"}}"), "line 2", "moon"),
    ];
    for (text, line, why) in cases {
        let error: ModelError = Cassette::read("cassette:x", &text, Places::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadCassette);
        assert!(error.to_string().contains(line) && error.to_string().contains(why), "{error}");
    }
    let missing = open("cassette:/nowhere/at/all", Settings::default(), &Models::builtin(), Places::new());
    let error = missing.err().unwrap();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}

#[tokio::test]
async fn a_cassette_can_fail_as_providers_do() {
    let text = "{\"cassette\":1,\"provider\":\"anthropic\"}\n{\"user\":\"x\"}\n{\"fails\":\"context_overflow\",\"message\":\"too long\"}";
    let error = broken(cassette(text).ask(ask(Api::Anthropic, vec![user(Api::Anthropic, "x")]))).await.error;
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::ContextOverflow, "too long"));
}
