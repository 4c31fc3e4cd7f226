use serde_json::{Value, json};

use crate::world::{Ran, World, tools};

fn world() -> World {
    let mut mocks = tools(&[
        ("echo", json!({})),
        ("slow", json!({"answers": [{"text": "late", "delay_ms": 30}]})),
        ("send", json!({"requires_idempotency_key": true})),
        (
            "broken_image",
            json!({"answers": [{"ok": [{"type": "image", "mime": "image/png", "data": "bm90IGFuIGltYWdl"}]}]}),
        ),
    ]);
    mocks["routes"] = json!({"quiet": ["echo"]});
    World::with(&mocks)
}

fn batch(world: &World, format: &str, turn: impl AsRef<[u8]> + Send, more: &[&str]) -> Ran {
    let args = ["batch", "--format", format, "--mocks", "mocks.json", "--allow", "*"];
    world.feed(&[&args, more].concat(), turn)
}

fn plain(world: &World, turn: &Value, more: &[&str]) -> Value {
    let ran = batch(world, "plain", turn.to_string(), more);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

fn call(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "input": {}})
}

#[test]
fn results_come_in_call_order_one_for_each_id() {
    let turn =
        json!({"calls": [call("a", "slow"), call("b", "nothing"), call("c", "echo"), call("a", "echo")]});
    let results = plain(&world(), &turn, &[]);
    let told: Vec<_> = results["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| [&it["id"], &it["status"], &it["code"]])
        .collect();
    assert_eq!(
        json!(told),
        json!([["a", "refused", "protocol_error"], ["b", "refused", "unknown_tool"], ["c", "ok", null]])
    );
}

#[test]
fn a_plain_call_without_an_id_runs_under_a_made_one_that_no_other_has() {
    let turn = json!({"calls": [{"name": "echo", "input": {}}, call("call_missing_1", "echo"), {"name": "echo", "input": {}}]});
    let results = plain(&world(), &turn, &[]);
    let results = results["results"].as_array().unwrap();
    let mut ids: Vec<_> = results.iter().map(|result| result["id"].as_str().unwrap()).collect();
    assert!(results.iter().all(|result| result["status"] == "ok"), "{results:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn odd_plain_calls_are_answered_and_never_run() {
    let cases = [
        (json!({"id": 3, "name": "echo", "input": {}}), "protocol_error"),
        (json!({"id": "", "name": "echo", "input": {}}), "protocol_error"),
        (json!({"id": "a", "name": 3, "input": {}}), "protocol_error"),
        (json!({"id": "a", "input": {}}), "protocol_error"),
        (json!({"id": "a", "name": "echo", "input": {}, "idempotency_key": 3}), "protocol_error"),
        (json!({"id": "a", "name": "", "input": {}}), "unknown_tool"),
        (json!({"id": "a", "name": "echo"}), "invalid_arguments"),
        (json!({"id": "a", "name": "echo", "input": "{}"}), "invalid_arguments"),
        (json!({"id": "a", "name": "send", "input": {}}), "missing_idempotency_key"),
    ];
    let world = world();
    for (call, code) in cases {
        let results = plain(&world, &json!({"calls": [call]}), &[]);
        assert_eq!(results["results"][0]["code"], code, "{call}");
        assert_eq!(results["results"].as_array().unwrap().len(), 1);
    }
    let twice = r#"{"calls": [{"id": "a", "id": "b", "name": "echo", "input": {}}]}"#;
    assert_eq!(batch(&world, "plain", twice, &[]).json()["results"][0]["code"], "protocol_error");
    let twice = r#"{"calls": [], "calls": [{"id": "a", "name": "echo", "input": {}}]}"#;
    assert_eq!(batch(&world, "plain", twice, &[]).json()["results"][0]["code"], "protocol_error");
    let inside = r#"{"calls": [{"id": "a", "name": "echo", "input": {"k": 1, "k": 2}}]}"#;
    let ran = batch(&world, "plain", inside, &[]).json();
    assert_eq!(ran["results"][0]["code"], "invalid_json");
    assert!(ran["results"][0]["reason"].as_str().unwrap().contains("\"k\" stands twice"), "{ran}");
}

#[test]
fn a_route_can_be_given_in_three_ways_and_the_command_line_goes_first() {
    let world = world();
    let turn = json!({"calls": [call("a", "slow")]});
    let placed = json!({"calls": [call("a", "slow")], "context": {"route": "quiet"}});
    world.file("context.json", r#"{"route": "quiet"}"#);
    let code = |turn: &Value, more: &[&str]| plain(&world, turn, more)["results"][0]["code"].clone();
    assert_eq!(code(&turn, &[]), Value::Null);
    for more in [["--route", "quiet"], ["--context", r#"{"route":"quiet"}"#], ["--context", "@context.json"]]
    {
        assert_eq!(code(&turn, &more), "not_disclosed", "{more:?}");
    }
    assert_eq!(code(&placed, &[]), "not_disclosed");
    let free = json!({"calls": [call("a", "slow")], "context": {"route": "nowhere"}});
    let reason = plain(&world, &free, &["--route", "quiet"])["results"][0]["reason"].to_string();
    assert!(reason.contains("`quiet`"), "{reason}");
}

#[test]
fn a_context_that_cannot_be_read_runs_nothing() {
    let world = world();
    for context in
        [json!({"rout": "quiet"}), json!({"route": 3}), json!("quiet"), json!({"approvals": ["x"]})]
    {
        let turn = json!({"calls": [call("a", "echo")], "context": context});
        assert_eq!(plain(&world, &turn, &[])["results"][0]["code"], "protocol_error", "{turn}");
        let turn = json!({"calls": [call("a", "echo")]}).to_string();
        let ran = batch(&world, "plain", turn, &["--context", &context.to_string()]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("hint: ") && ran.out.is_empty(), "{ran:?}");
    }
}

#[test]
fn an_approval_is_good_for_the_call_with_its_digest() {
    let world = world();
    let turn = json!({"calls": [call("a", "echo")]}).to_string();
    let args = ["batch", "--format", "plain", "--mocks", "mocks.json", "--ask", "echo"];
    let ran = world.feed(&args, &turn).json();
    assert_eq!(ran["results"][0]["code"], "approval_required", "{ran}");
    let other = "0".repeat(64);
    let context = json!({ "approvals": [other] }).to_string();
    let ran = world.feed(&[&args[..], &["--context", &context]].concat(), &turn).json();
    assert_eq!(ran["results"][0]["code"], "approval_required", "{ran}");
}

#[test]
fn what_is_no_json_is_named_with_exit_1_and_what_is_no_turn_is_answered() {
    let world = world();
    for format in ["anthropic", "openai-responses", "openai-chat", "plain"] {
        for body in ["<html>502</html>", "", "hello"] {
            let ran = batch(&world, format, body, &[]);
            assert_eq!(ran.code, Some(1), "{format} {body}: {ran:?}");
            assert!(ran.out.is_empty() && ran.err.contains("hint: ") && ran.err.len() < 1_000, "{ran:?}");
        }
        for body in ["null", "[1]", "3", r#"{"content": 42, "stop_reason": "tool_use"}"#] {
            let ran = batch(&world, format, body, &[]);
            assert_eq!(ran.code, Some(0), "{format} {body}: {ran:?}");
        }
    }
    let ran = batch(&world, "anthropic", r#"{"role": "assistant", "stop_reason": "tool_use"}"#, &[]);
    assert!(ran.out.contains("protocol_error"), "{ran:?}");
    let chat = json!({"choices": [{"message": {"role": "assistant", "content": "hi"}}]}).to_string();
    let ran = batch(&world, "anthropic", chat, &[]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("openai-chat"), "{ran:?}");
}

#[test]
fn a_stream_is_read_as_lines_and_as_sse_and_nothing_else_is_taken_for_one() {
    let world = world();
    let events = [
        json!({"type": "message_start"}),
        json!({"type": "ping_of_tomorrow"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "echo", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ];
    let lines = events.iter().map(|event| format!("{event}\n")).collect::<Vec<_>>().concat();
    let sse = events.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat();
    for text in [&lines, &sse] {
        let ran = batch(&world, "anthropic", text, &["--events"]);
        assert_eq!(ran.json()["content"][0]["tool_use_id"], "t");
        assert_eq!(ran.json()["content"][0]["is_error"], Value::Null, "{ran:?}");
        assert!(ran.err.contains("ping_of_tomorrow"), "{ran:?}");
        // Cut anywhere, it is answered and not run.
        let cut = &text[..text.len() * 3 / 4];
        let ran = batch(&world, "anthropic", cut, &["--events"]);
        assert!(ran.out.contains("protocol_error"), "{ran:?}");
    }
    for text in ["<html>", ""] {
        let ran = batch(&world, "anthropic", text, &["--events"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
    }
    let ran = batch(&world, "anthropic", &sse, &[]);
    assert!(ran.code == Some(1) && ran.err.contains("add --events"), "{ran:?}");
    assert_eq!(batch(&world, "plain", "{}", &["--events"]).code, Some(2));
}

#[test]
fn an_image_that_is_none_is_told_in_words() {
    let turn = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "broken_image", "input": {}},
        {"type": "tool_use", "id": "u", "name": "echo", "input": {}}]});
    let ran = batch(&world(), "anthropic", turn.to_string(), &[]);
    let content = &ran.json()["content"];
    assert!(!content[0]["content"].to_string().contains("base64\""), "{content}");
    assert_eq!(content[1]["tool_use_id"], "u");
}

#[test]
fn a_body_of_twenty_megabytes_is_read() {
    let turn = json!({"role": "assistant", "content": [
        {"type": "text", "text": "x".repeat(20 << 20)}, {"type": "tool_use", "id": "t", "name": "echo", "input": {}}]});
    let ran = batch(&world(), "anthropic", turn.to_string(), &[]);
    assert_eq!(ran.json()["content"][0]["tool_use_id"], "t");
}

#[test]
fn the_events_of_a_turn_are_on_stderr_where_they_are_asked_for() {
    let turn = json!({"calls": [call("a", "echo")]}).to_string();
    let ran = batch(&world(), "plain", turn, &["--trace-events"]);
    assert!(ran.err.lines().any(|line| line.contains("\"event\":\"executed\"")), "{ran:?}");
}

#[test]
fn an_empty_text_of_arguments_is_no_empty_object_even_where_nothing_is_required() {
    for (arguments, code) in [("", "invalid_json"), ("null", "invalid_arguments"), ("{}", "")] {
        let call =
            json!({"id": "a", "type": "function", "function": {"name": "echo", "arguments": arguments}});
        let turn = json!({"role": "assistant", "tool_calls": [call]});
        let ran = batch(&world(), "openai-chat", turn.to_string(), &[]);
        let told = ran.json()[0]["content"].as_str().unwrap().to_owned();
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        assert_eq!(told["code"].as_str().unwrap_or_default(), code, "{arguments:?}: {told}");
    }
}
