//! Each rule of the stand-in has a request that it refuses, beside a twin that it takes.

use std::collections::BTreeSet;

use axum::http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tollgate_agent::{
    provider::Api,
    standin::{StandIn, rules::judge},
};

fn headers(api: Api) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let key = HeaderValue::from_str(&format!("Bearer {}", StandIn::key())).unwrap();
    headers.insert("authorization", key);
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    if api == Api::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    headers
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}},
    })
}

/// A request that every rule is content with: a question, two calls, their results, an answer, a question.
fn good(api: Api) -> Value {
    match api {
        Api::Anthropic => json!({
            "model": "m", "max_tokens": 100, "stream": true,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "read", "description": "Reads.", "input_schema": schema()}],
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                    {"type": "tool_use", "id": "c2", "name": "read", "input": {"path": "b"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "A"},
                    {"type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": [{"type": "text", "text": "No."}]},
                    {"type": "text", "text": "And now?"},
                ]},
            ],
        }),
        Api::OpenAi => json!({
            "model": "m", "stream": true, "store": false, "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": schema(), "strict": false}],
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}", "status": "completed"},
                {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "read", "arguments": "{}", "status": "completed"},
                {"type": "function_call_output", "call_id": "c1", "output": "A"},
                {"type": "function_call_output", "call_id": "c2", "output": "B"},
                {"type": "message", "role": "user", "content": "And now?"},
            ],
        }),
        Api::Chat => json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": schema()}}],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "I look.", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                    {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "A"},
                {"role": "tool", "tool_call_id": "c2", "content": "B"},
                {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
            ],
        }),
    }
}

/// Sets what stands at a pointer; `remove` takes it out, and an index past the end appends.
fn with(mut body: Value, pointer: &str, change: &Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}")) {
        Value::Object(fields) if change == "remove" => drop(fields.shift_remove(key)),
        Value::Object(fields) => drop(fields.insert(key.to_owned(), change.clone())),
        Value::Array(items) => {
            let at: usize = key.parse().unwrap();
            match change {
                Value::String(word) if word == "remove" => drop(items.remove(at)),
                _ if at < items.len() => items[at] = change.clone(),
                _ => items.push(change.clone()),
            }
        }
        _ => panic!("{pointer} leads nowhere"),
    }
    body
}

type Case = (&'static str, &'static str, Value);

fn refuses(api: Api, cases: &[Case]) -> BTreeSet<&'static str> {
    judge(api, &headers(api), &good(api)).expect("the twin is taken");
    for (rule, pointer, change) in cases {
        let bad = with(good(api), pointer, change);
        let refused = judge(api, &headers(api), &bad).expect_err(&format!("{rule}: {pointer} = {change}"));
        assert_eq!(refused.rule, *rule, "{pointer} = {change}: {}", refused.message);
    }
    cases.iter().map(|(rule, ..)| *rule).collect()
}

fn takes(api: Api, changes: &[(&str, Value)]) {
    for (pointer, change) in changes {
        let body = with(good(api), pointer, change);
        assert_eq!(judge(api, &headers(api), &body), Ok(()), "{pointer} = {change}");
    }
}

#[test]
fn every_api_wants_a_key_a_type_a_model_and_json() {
    for api in [Api::Anthropic, Api::OpenAi, Api::Chat] {
        let rule =
            |headers: &HeaderMap, body: &Value| judge(api, headers, body).map_err(|refused| refused.rule);
        let without = |name: &str| {
            let mut headers = headers(api);
            headers.remove(name);
            headers
        };
        assert_eq!(rule(&headers(api), &good(api)), Ok(()));
        assert_eq!(rule(&without("authorization"), &good(api)), Err("no_key"));
        assert_eq!(rule(&without("content-type"), &good(api)), Err("content_type"));
        let mut wrong = headers(api);
        wrong.insert("authorization", HeaderValue::from_static("Bearer other"));
        assert_eq!(rule(&wrong, &good(api)), Err("wrong_key"));
        assert_eq!(rule(&headers(api), &json!([])), Err("body"));
        assert_eq!(rule(&headers(api), &with(good(api), "/model", &json!("remove"))), Err("model"));
        assert_eq!(rule(&headers(api), &with(good(api), "/model", &json!("missing"))), Err("unknown_model"));
        assert_eq!(rule(&headers(api), &with(good(api), "/stream", &json!("yes"))), Err("stream"));
        assert_eq!(rule(&headers(api), &with(good(api), "/purpose", &json!("why"))), Err("unknown_field"));
        if api == Api::Anthropic {
            assert_eq!(rule(&without("anthropic-version"), &good(api)), Err("version"));
            let mut other_way = without("authorization");
            other_way.insert("x-api-key", HeaderValue::from_static(StandIn::key()));
            assert_eq!(rule(&other_way, &good(api)), Ok(()));
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn messages_refuses_what_anthropic_refuses() {
    let result = json!({"type": "tool_result", "tool_use_id": "c1", "content": "again"});
    let mark = json!({"type": "ephemeral"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let marked = |count: usize| -> Value {
        (0..count)
            .map(|at| json!({"type": "text", "text": at.to_string(), "cache_control": {"type": "ephemeral"}}))
            .collect()
    };
    let search = json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"});
    let deferred = json!({"name": "far", "input_schema": schema(), "defer_loading": true});
    let both = json!({"name": "far", "input_schema": schema(), "defer_loading": true, "cache_control": mark});
    let strict = |schema: Value| json!({"name": "s", "input_schema": schema, "strict": true});
    let cases: Vec<Case> = vec![
        ("max_tokens", "/max_tokens", json!("remove")),
        ("max_tokens", "/max_tokens", json!(0)),
        ("system", "/system", json!(7)),
        ("system", "/system/0", json!({"type": "image"})),
        ("empty_text", "/system/0", text(" ")),
        ("no_messages", "/messages", json!([])),
        ("role", "/messages/0/role", json!("system")),
        ("roles_alternate", "/messages/3", json!({"role": "user", "content": "again"})),
        ("first_user", "/messages/0", json!("remove")),
        ("content", "/messages/0/content", json!(7)),
        ("empty_content", "/messages/0/content", json!(" ")),
        ("empty_content", "/messages/0/content", json!([])),
        ("empty_text", "/messages/0/content", json!([{"type": "text", "text": ""}])),
        ("unknown_field", "/messages/1/id", json!("msg_1")),
        ("unknown_field", "/messages/1/content/2/purpose", json!("why")),
        ("unknown_field", "/messages/2/content/0/status", json!("ok")),
        ("text_after_call", "/messages/1/content/4", text("More.")),
        (
            "thinking_after_call",
            "/messages/1/content/4",
            json!({"type": "thinking", "thinking": "x", "signature": "s"}),
        ),
        ("unsigned_thinking", "/messages/1/content/0/signature", json!("")),
        ("call_id", "/messages/1/content/2/id", json!("not an id")),
        ("call_id_twice", "/messages/1/content/3/id", json!("c1")),
        ("call_name", "/messages/1/content/2/name", json!("a.b")),
        ("call_input", "/messages/1/content/2/input", json!("{}")),
        ("block", "/messages/1/content/0", result.clone()),
        ("block", "/messages/2/content/2", json!({"type": "tool_use", "id": "x", "name": "x", "input": {}})),
        ("result_not_first", "/messages/2/content", json!([text("x"), result.clone()])),
        ("result_without_call", "/messages/2/content/0/tool_use_id", json!("c9")),
        ("result_twice", "/messages/2/content/1", result.clone()),
        ("unpaired", "/messages/2/content/1", json!("remove")),
        ("unpaired", "/messages/2", json!("remove")),
        ("is_error", "/messages/2/content/0/is_error", json!("no")),
        ("empty_error", "/messages/2/content/1/content", json!("")),
        ("empty_error", "/messages/2/content/1/content", json!([])),
        ("empty_error", "/messages/2/content/1/content", json!("remove")),
        ("error_not_text", "/messages/2/content/1/content", json!([{"type": "image", "source": {}}])),
        ("result_content", "/messages/2/content/0/content", json!({})),
        (
            "image",
            "/messages/2/content/0/content",
            json!([{"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "x"}}]),
        ),
        ("prefill", "/messages/3", json!({"role": "assistant", "content": "Well,"})),
        ("calls_without_tools", "/tools", json!("remove")),
        ("tools", "/tools", json!({})),
        ("tool_name", "/tools/0/name", json!("a b")),
        ("tool_name", "/tools/0/name", json!("a".repeat(129))),
        ("tool_twice", "/tools/1", json!({"name": "read", "input_schema": schema()})),
        ("tool_description", "/tools/0/description", json!(7)),
        ("tool_type", "/tools/0/type", json!("moon")),
        ("unknown_field", "/tools/0/parameters", json!({})),
        ("schema_missing", "/tools/0/input_schema", json!("remove")),
        ("schema_root", "/tools/0/input_schema/type", json!("array")),
        ("schema_root_combinator", "/tools/0/input_schema/oneOf", json!([])),
        ("schema_key", "/tools/0/input_schema/properties/a b", json!({})),
        ("schema_value", "/tools/0/input_schema/properties/path", json!("string")),
        ("schema_ref", "/tools/0/input_schema/properties/path", json!({"$ref": "https://x"})),
        ("strict_closed", "/tools/0", strict(schema())),
        (
            "strict_keyword",
            "/tools/0",
            strict(
                json!({"type": "object", "additionalProperties": false, "properties": {"n": {"type": "integer", "minimum": 1}}}),
            ),
        ),
        ("search_name", "/tools/1", json!({"type": "tool_search_tool_bm25_20251119", "name": "search"})),
        ("deferred_and_marked", "/tools/1", both),
        ("deferred_without_search", "/tools/1", deferred.clone()),
        (
            "all_deferred",
            "/tools",
            json!([
                json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25", "defer_loading": true}),
                deferred
            ]),
        ),
        ("tool_choice", "/tool_choice", json!({"type": "maybe"})),
        ("cache_mark", "/system/0/cache_control", json!({"type": "forever"})),
        ("cache_mark_on_thinking", "/messages/1/content/0/cache_control", mark.clone()),
        ("cache_marks", "/messages/0/content", marked(4)),
    ];
    refuses(Api::Anthropic, &cases);
    takes(
        Api::Anthropic,
        &[
            ("/messages/0/content", marked(3)),
            ("/tools/0", strict(json!({"type": "object", "properties": {}, "additionalProperties": false}))),
            ("/tools/1", search),
            ("/tool_choice", json!({"type": "none"})),
            (
                "/messages/2/content/0/content",
                json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}]),
            ),
            ("/messages/2/content/0/content", json!("remove")),
            (
                "/messages/3",
                json!({"role": "assistant", "content": [{"type": "server_tool_use", "id": "s1", "name": "x", "input": {}}]}),
            ),
        ],
    );
    let deep = (0..50).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let deep = with(good(Api::Anthropic), "/tools/0/input_schema/properties/path", &deep);
    assert_eq!(judge(Api::Anthropic, &headers(Api::Anthropic), &deep).unwrap_err().rule, "schema_depth");
    let alone = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "auto"}});
    let refused = judge(Api::Anthropic, &headers(Api::Anthropic), &alone).unwrap_err();
    assert_eq!(refused.rule, "choice_without_tools");
}

#[test]
fn responses_refuses_what_openai_refuses() {
    let deferred = json!({"type": "function", "name": "far", "parameters": schema(), "strict": false, "defer_loading": true});
    let cases: Vec<Case> = vec![
        ("no_messages", "/input", json!([])),
        ("no_messages", "/input", json!("remove")),
        ("max_output_tokens", "/max_output_tokens", json!(1)),
        ("cache_key", "/prompt_cache_key", json!("k".repeat(65))),
        ("item", "/input/0", json!("hello")),
        ("item", "/input/0/type", json!("moon")),
        ("role", "/input/0/role", json!("tool")),
        ("content", "/input/0/content", json!(7)),
        ("content", "/input/0/content/0/type", json!("text")),
        ("image", "/input/0/content/0", json!({"type": "input_image", "image_url": "file:///x"})),
        ("unknown_field", "/input/0/purpose", json!("x")),
        ("unknown_field", "/input/2/purpose", json!("x")),
        ("call_id", "/input/2/call_id", json!("")),
        ("call_id_length", "/input/2/call_id", json!("c".repeat(65))),
        ("call_id_twice", "/input/3/call_id", json!("c1")),
        ("call_name", "/input/2/name", json!("a.b")),
        ("call_input", "/input/2/arguments", json!({})),
        ("item_id", "/input/2/id", json!("call_1")),
        ("result_without_call", "/input/4/call_id", json!("c9")),
        ("result_twice", "/input/5/call_id", json!("c1")),
        ("result_content", "/input/4/output", json!("remove")),
        ("result_content", "/input/4/output", json!([{"type": "output_text", "text": "x"}])),
        ("unpaired", "/input/5", json!("remove")),
        ("reasoning_summary", "/input/1/summary", json!("remove")),
        ("reasoning_lost", "/input/1/encrypted_content", json!("remove")),
        (
            "reasoning_alone",
            "/input/7",
            json!({"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "x"}),
        ),
        ("tools", "/tools", json!([])),
        ("tool_type", "/tools/0/type", json!("moon")),
        ("tool_name", "/tools/0/name", json!("a b")),
        (
            "tool_twice",
            "/tools/1",
            json!({"type": "function", "name": "read", "parameters": schema(), "strict": false}),
        ),
        ("tool_description", "/tools/0/description", json!(7)),
        ("schema_missing", "/tools/0/parameters", json!("remove")),
        ("schema_root", "/tools/0/parameters/type", json!("string")),
        ("schema_root_combinator", "/tools/0/parameters/anyOf", json!([])),
        ("schema_items", "/tools/0/parameters/properties/list", json!({"type": "array"})),
        ("schema_properties", "/tools/0/parameters/properties/path", json!({"type": "object"})),
        ("strict_closed", "/tools/0/strict", json!("remove")),
        (
            "strict_required",
            "/tools/0",
            json!({"type": "function", "name": "s", "strict": true, "parameters": {"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}}}),
        ),
        (
            "strict_keyword",
            "/tools/0",
            json!({"type": "function", "name": "s", "strict": true, "parameters": {"type": "object", "additionalProperties": false, "properties": {"a": {"allOf": []}}, "required": ["a"]}}),
        ),
        ("deferred_without_search", "/tools/1", deferred),
        ("tool_choice", "/tool_choice", json!("maybe")),
    ];
    refuses(Api::OpenAi, &cases);
    takes(
        Api::OpenAi,
        &[
            ("/input/2/call_id", json!("c1")),
            ("/input/4/output", json!([{"type": "input_text", "text": "x"}])),
            ("/tool_choice", json!("none")),
            ("/parallel_tool_calls", json!(true)),
            ("/max_output_tokens", json!(16)),
            ("/tools/1", json!({"type": "tool_search"})),
        ],
    );
    // A late result: the user spoke first.
    let mut late = good(Api::OpenAi);
    let items = late["input"].as_array_mut().unwrap();
    items.swap(5, 6);
    let refused = judge(Api::OpenAi, &headers(Api::OpenAi), &late).unwrap_err();
    assert_eq!(refused.rule, "unpaired");
    for (field, rule) in
        [("tool_choice", "choice_without_tools"), ("parallel_tool_calls", "parallel_without_tools")]
    {
        let alone = json!({"model": "m", "input": "x", field: "auto"});
        assert_eq!(judge(Api::OpenAi, &headers(Api::OpenAi), &alone).unwrap_err().rule, rule);
    }
}

#[test]
fn chat_refuses_what_openai_refuses() {
    let cases: Vec<Case> = vec![
        ("no_messages", "/messages", json!([])),
        ("stream_options", "/stream", json!(false)),
        ("message", "/messages/0", json!("hello")),
        ("role", "/messages/0/role", json!("moon")),
        ("content", "/messages/1/content", json!([])),
        ("content", "/messages/1/content", json!(null)),
        ("content_kind", "/messages/3/content", json!([{"type": "image_url", "image_url": {"url": "x"}}])),
        ("unknown_field", "/messages/1/purpose", json!("x")),
        ("unknown_field", "/messages/3/is_error", json!(true)),
        ("unknown_field", "/messages/2/tool_calls/0/index", json!(0)),
        ("empty_content", "/messages/2", json!({"role": "assistant", "content": null})),
        ("tool_calls", "/messages/2/tool_calls", json!([])),
        ("call_id", "/messages/2/tool_calls/0/id", json!("")),
        ("call_id", "/messages/3/tool_call_id", json!("remove")),
        ("call_id_length", "/messages/2/tool_calls/0/id", json!("c".repeat(41))),
        ("call_id_twice", "/messages/2/tool_calls/1/id", json!("c1")),
        ("call_type", "/messages/2/tool_calls/0/type", json!("remove")),
        ("call_name", "/messages/2/tool_calls/0/function/name", json!("n".repeat(65))),
        ("call_input", "/messages/2/tool_calls/0/function/arguments", json!("{\"a\":")),
        ("call_input", "/messages/2/tool_calls/0/function/arguments", json!({})),
        ("result_content", "/messages/3/content", json!(null)),
        ("result_without_call", "/messages/3/tool_call_id", json!("c9")),
        ("result_twice", "/messages/4/tool_call_id", json!("c1")),
        ("unpaired", "/messages/4", json!("remove")),
        ("tools", "/tools", json!([])),
        ("tool_type", "/tools/0/type", json!("remove")),
        ("tool_name", "/tools/0/function/name", json!("n".repeat(65))),
        (
            "tool_twice",
            "/tools/1",
            json!({"type": "function", "function": {"name": "read", "parameters": schema()}}),
        ),
        ("unknown_field", "/tools/0/function/defer_loading", json!(true)),
        ("schema_items", "/tools/0/function/parameters/properties/list", json!({"type": "array"})),
        ("schema_properties", "/tools/0/function/parameters/properties", json!("remove")),
        ("strict_closed", "/tools/0/function/strict", json!(true)),
        ("tool_choice", "/tool_choice", json!("maybe")),
    ];
    refuses(Api::Chat, &cases);
    takes(
        Api::Chat,
        &[
            ("/messages/2/content", json!(null)),
            ("/messages/2/reasoning_content", json!("hm")),
            ("/messages/1/content", json!([{"type": "image_url", "image_url": {"url": "x"}}])),
            ("/max_tokens", json!(5)),
            ("/tool_choice", json!("required")),
        ],
    );
    let two = with(with(good(Api::Chat), "/max_tokens", &json!(5)), "/max_completion_tokens", &json!(5));
    assert_eq!(judge(Api::Chat, &headers(Api::Chat), &two).unwrap_err().rule, "two_limits");
    let mut late = good(Api::Chat);
    late["messages"].as_array_mut().unwrap().swap(4, 5);
    assert_eq!(judge(Api::Chat, &headers(Api::Chat), &late).unwrap_err().rule, "unpaired");
}
