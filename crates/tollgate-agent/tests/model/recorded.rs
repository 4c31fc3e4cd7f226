//! Real answers of real providers, recorded elsewhere, read through the clients.

#![expect(clippy::disallowed_methods, reason = "a test is told by the environment where its data is")]

use serde_json::Value;
use tollgate_agent::{
    model::{ErrorKind, Model, Retries, Step},
    provider::{Api, Settings, Streaming},
    standin::{Say, StandIn},
};

use crate::skipped::skipped;
use crate::support::{hello, name, steps};

#[tokio::test]
async fn every_recorded_answer_becomes_a_turn_or_a_named_error() {
    let Ok(shared) = std::env::var("TOLLGATE_SHARED") else {
        skipped("TOLLGATE_SHARED does not name the folder with wire/recorded.jsonl");
        return;
    };
    let text =
        std::fs::read_to_string(format!("{shared}/wire/recorded.jsonl")).expect("the recordings are there");
    let standin = StandIn::start().await.unwrap();
    let (mut turns, mut calls, mut errors, mut broken_off) = (0, 0, 0, 0);
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let api = match row["proto"].as_str().unwrap() {
            "anthropic" => Api::Anthropic,
            "openai-responses" => Api::OpenAi,
            _ => Api::Chat,
        };
        let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
        let body = row["response"].as_str().map_or_else(|| row["response"].to_string(), str::to_owned);
        let stream = row["stream"] == true;
        let kind = if stream { "text/event-stream" } else { "application/json" };
        standin.say(Say::raw(status, kind, body));
        let streaming = if stream { Streaming::On } else { Streaming::Off };
        let settings = Settings { streaming, retries: Retries::NONE, ..standin.settings() };
        let model = standin.model_with(name(api), settings).unwrap();
        match steps(model.ask(hello(api))).await.pop() {
            Some(Step::Done(turn)) if status == 200 => {
                turns += 1;
                calls += turn.calls.len();
            }
            Some(Step::Broken(broken)) if status != 200 => {
                assert_eq!(broken.error.kind(), ErrorKind::Rejected, "{}", broken.error);
                errors += 1;
            }
            // One of them is a stream that ends in an error of the provider's.
            Some(Step::Broken(broken)) if broken.error.kind() == ErrorKind::ProviderFailed => broken_off += 1,
            other => panic!("{} {} became {other:?}", row["src"], row["n"]),
        }
    }
    assert_eq!((turns, errors, broken_off), (81, 2, 1));
    assert!(calls > 20, "{calls}");
}
