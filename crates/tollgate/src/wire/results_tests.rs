use std::{sync::OnceLock, time::Duration};

use serde_json::{Value, json};

use super::{ChatImages, Provider, check, results_message, results_message_with};
use crate::{
    outcome::{
        Answer, Failure, Item, Outcome, Output, Phase, Refusal, RefusalCode, Settled, Trust, Violation,
    },
    tool::CallId,
};

/// A picture of one pixel, as far as anybody looks.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

fn settled(id: &str, outcome: Outcome) -> Settled {
    Settled::new(Answer {
        id: CallId::new(id),
        tool: "tool".into(),
        outcome,
        phase: Phase::Settle,
        duration: Duration::ZERO,
        was_concurrent: false,
        attempts: 1,
        replayed: false,
        trust: Trust::TrustedSystem,
        offloaded: None,
        context: Vec::new(),
        evidence: OnceLock::new(),
    })
}

fn ok(output: Output) -> Settled {
    settled("c1", Outcome::Ok(output))
}

/// The text of the one answer, at each provider.
fn texts(answer: &Settled) -> Vec<Value> {
    Provider::ALL
        .into_iter()
        .map(|provider| {
            let message = results_message(provider, std::slice::from_ref(answer));
            match provider {
                Provider::Anthropic => message["content"][0]["content"].clone(),
                Provider::OpenAiResponses => message[0]["output"].clone(),
                Provider::OpenAiChat => message[0]["content"].clone(),
            }
        })
        .collect()
}

#[test]
fn a_text_is_a_text_a_value_is_compact_json_and_nothing_says_so() {
    let cases = [
        (Output::text("hello"), "hello"),
        (Output::json(json!({"b": 1, "a": [true, null]})), r#"{"b":1,"a":[true,null]}"#),
        (Output::text(""), "(no output)"),
        (Output::default(), "(no output)"),
    ];
    for (output, expected) in cases {
        assert_eq!(texts(&ok(output)), [json!(expected), json!(expected), json!(expected)]);
    }
}

#[test]
fn each_provider_gets_its_own_message_in_call_order() {
    let answers =
        [settled("c2", Outcome::Ok(Output::text("two"))), settled("c1", Outcome::Ok(Output::text("one")))];
    assert_eq!(
        results_message(Provider::Anthropic, &answers),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
            {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
        ]})
    );
    assert_eq!(
        results_message(Provider::OpenAiResponses, &answers),
        json!([
            {"type": "function_call_output", "call_id": "c2", "output": "two"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
        ])
    );
    assert_eq!(
        results_message(Provider::OpenAiChat, &answers),
        json!([
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
        ])
    );
}

#[test]
fn whatever_is_not_ok_says_its_status_code_reason_and_hint_and_is_marked_where_there_is_a_mark() {
    let mut refusal = Refusal::new(RefusalCode::InvalidArguments, "No.").with_hint("Do this.");
    refusal.violations =
        vec![Violation { pointer: "/a".into(), message: "expected".into(), did_you_mean: None }];
    refusal.retry_after_ms = Some(5);
    let cases = [
        (
            Outcome::Refused(refusal),
            json!({"status": "refused", "code": "invalid_arguments", "reason": "No.", "hint": "Do this.",
                "violations": [{"pointer": "/a", "message": "expected"}], "retry_after_ms": 5}),
        ),
        (
            Outcome::Failed(Failure::retryable("Busy.").after(Duration::from_millis(1500))),
            json!({"status": "retryable_error", "reason": "Busy.",
                "hint": "Nothing was done; trying again is safe.", "retry_after_ms": 1500}),
        ),
        (Outcome::Failed(Failure::fatal("")), json!({"status": "fatal_error", "reason": "no reason given"})),
        (
            Outcome::Failed(Failure::unknown("Lost.")),
            json!({"status": "unknown", "reason": "Lost.",
                "hint": "Whether it took effect is not known: look before doing it again."}),
        ),
    ];
    for (outcome, expected) in cases {
        let answer = settled("c1", outcome);
        for text in texts(&answer) {
            assert_eq!(serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap(), expected);
        }
        let message = results_message(Provider::Anthropic, &[answer]);
        assert_eq!(message["content"][0]["is_error"], json!(true));
    }
    let message = results_message(Provider::Anthropic, &[ok(Output::text("fine"))]);
    assert_eq!(message["content"][0].get("is_error"), None);
}

#[test]
fn what_hooks_add_follows_the_result_and_stays_inside_an_error() {
    let mut answer = ok(Output::text("out"));
    answer.context = vec!["Mind the gap.".to_owned(), " ".to_owned()];
    let blocks = json!([{"type": "text", "text": "out"}, {"type": "text", "text": "Mind the gap."}]);
    assert_eq!(texts(&answer), [blocks, json!("out\nMind the gap."), json!("out\nMind the gap.")]);
    answer.outcome = Outcome::Failed(Failure::fatal("bad"));
    answer.context.pop();
    let error = r#"{"status":"fatal_error","reason":"bad","context":["Mind the gap."]}"#;
    assert_eq!(texts(&answer), [json!(error), json!(error), json!(error)]);
}

#[test]
fn a_picture_is_shown_in_each_providers_form() {
    let answer = ok(Output::text("See:").and(Item::Image { mime: "image/jpeg".into(), data: PNG.into() }));
    let url = format!("data:image/png;base64,{PNG}");
    assert_eq!(
        texts(&answer)[0],
        json!([
            {"type": "text", "text": "See:"},
            // What it is counts, not what it was said to be.
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ])
    );
    assert_eq!(
        texts(&answer)[1],
        json!([
            {"type": "input_text", "text": "See:"},
            {"type": "input_image", "image_url": url},
        ])
    );
    let chat = results_message(Provider::OpenAiChat, std::slice::from_ref(&answer));
    assert_eq!(
        chat,
        json!([
            {"role": "tool", "tool_call_id": "c1", "content": "See:\n(a picture, image/png)"},
            {"role": "user", "content": [
                {"type": "text", "text": "From the result of call c1:"},
                {"type": "image_url", "image_url": {"url": url}},
            ]},
        ])
    );
    let only_text = results_message_with(Provider::OpenAiChat, &[answer], ChatImages::Mentioned);
    assert_eq!(only_text.as_array().unwrap().len(), 1);
}

#[test]
fn what_is_no_picture_is_named_and_the_rest_goes_on() {
    let huge = format!("iVBORw0KGgo{}", "A".repeat(6 << 20));
    let cases = [
        (
            "image/png",
            "bm90IGEgcGljdHVyZQ==",
            "(marked image/png, but not a PNG, JPEG, GIF or WebP picture; not shown)",
        ),
        ("image/png", "%%%%", "(marked image/png, but not a PNG, JPEG, GIF or WebP picture; not shown)"),
        ("image/png", "", "(marked image/png, but not a PNG, JPEG, GIF or WebP picture; not shown)"),
        (
            "image/tiff",
            "SUkqAAgAAAA=",
            "(marked image/tiff, but not a PNG, JPEG, GIF or WebP picture; not shown)",
        ),
        ("image/png", &huge, "(image/png of 6291467 bytes in base64, too large to be shown)"),
    ];
    for (mime, data, expected) in cases {
        let output = Output::image(mime, data).and(Item::Text { text: "rest".into() });
        let text = texts(&ok(output))[2].clone();
        assert_eq!(text, json!(format!("{expected}\nrest")));
    }
}

#[test]
fn results_put_after_their_calls_are_a_history_the_provider_takes() {
    let answers = [
        settled("c1", Outcome::Ok(Output::image("image/png", PNG))),
        settled("c2", Outcome::Failed(Failure::fatal(" "))),
        settled("c3", Outcome::Ok(Output::default())),
    ];
    let ids = ["c1", "c2", "c3"];
    let user = json!({"role": "user", "content": "Go."});
    for provider in Provider::ALL {
        let calls = ids.map(|id| match provider {
            Provider::Anthropic => json!({"type": "tool_use", "id": id, "name": "t", "input": {}}),
            Provider::OpenAiResponses => {
                json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"})
            }
            Provider::OpenAiChat => {
                json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}})
            }
        });
        let mut history = vec![user.clone()];
        match provider {
            Provider::Anthropic => history.push(json!({"role": "assistant", "content": calls})),
            Provider::OpenAiResponses => history.extend(calls),
            Provider::OpenAiChat => history.push(json!({"role": "assistant", "tool_calls": calls})),
        }
        match results_message(provider, &answers) {
            Value::Array(items) => history.extend(items),
            message => history.push(message),
        }
        assert_eq!(check(provider, &history), Vec::<String>::new(), "{provider}");
    }
}
