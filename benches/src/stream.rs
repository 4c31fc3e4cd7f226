//! A streamed turn of one megabyte: split into events, read, and put together again.

use std::{fmt::Write as _, hint::black_box};

use serde_json::{Value, json};
use tollgate::wire::{Provider, TurnReader};

use crate::table::{Row, best_of, wanted};

const SIZE: usize = 1 << 20;

/// How much comes at once, as from a socket.
const CHUNK: usize = 4096;

/// The time it may take, in times of the floor: half its speed.
const LIMIT: f64 = 2.0;

/// The rows about streams, one for each provider.
pub(crate) fn rows() -> Vec<Row> {
    let turns = [
        (Provider::Anthropic, "anthropic", anthropic as fn() -> String),
        (Provider::OpenAiResponses, "openai responses", openai_responses),
        (Provider::OpenAiChat, "openai chat", openai_chat),
    ];
    let wanted = turns.into_iter().filter(|_| wanted("stream"));
    wanted.map(|(provider, name, stream)| row(provider, name, &stream())).collect()
}

fn row(provider: Provider, name: &str, stream: &str) -> Row {
    let turn = read(provider, stream);
    assert_eq!(turn.calls.len(), 2, "{name}: {:?}", turn.stop);
    assert!(turn.calls.iter().all(|call| call.fault().is_none()), "{name}: {:?}", turn.stop);
    let (floor, figure) = best_of(30, || plain(stream), || (), |()| read(provider, stream));
    Row::ratio(&format!("1 MB streamed, {name}"), "plain SSE and JSON parsing", floor, figure, Some(LIMIT))
}

fn read(provider: Provider, stream: &str) -> tollgate::wire::ModelTurn {
    let mut reader = TurnReader::new(provider);
    for chunk in stream.as_bytes().chunks(CHUNK) {
        black_box(reader.push(chunk));
    }
    reader.finish()
}

/// The floor: every data line of the same chunks as a JSON value, and nothing made of it.
fn plain(stream: &str) {
    let mut kept = Vec::new();
    for chunk in stream.as_bytes().chunks(CHUNK) {
        kept.extend_from_slice(chunk);
        let mut done = 0;
        while let Some(length) = kept[done..].iter().position(|byte| *byte == b'\n') {
            let line = &kept[done..done + length];
            if let Some(data) = line.strip_prefix(b"data: ").filter(|data| data != b"[DONE]") {
                black_box(serde_json::from_slice::<Value>(data).expect("JSON"));
            }
            done += length + 1;
        }
        kept.drain(..done);
    }
}

/// Pieces of text and of arguments, as models write them: a few letters at a time.
const WORDS: [&str; 6] = ["The ", "weather", " in", " Zürich is \"mild\"", ",", " and\n"];

fn event(stream: &mut String, name: &str, data: &Value) {
    write!(stream, "event: {name}\ndata: {data}\n\n").expect("a string takes it");
}

/// The arguments of a call in pieces: one long text.
fn argument_pieces(least: usize) -> impl Iterator<Item = String> {
    let middle = (0..least).map(|at| WORDS[at % 5].replace('"', "'"));
    std::iter::once("{\"text\": \"".to_owned()).chain(middle).chain(std::iter::once("\"}".to_owned()))
}

fn anthropic() -> String {
    let mut stream = String::new();
    event(
        &mut stream,
        "message_start",
        &json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "content": [], "model": "m", "stop_reason": null, "usage": {"input_tokens": 9, "output_tokens": 1}}}),
    );
    let block = |stream: &mut String, at: usize, start: Value, pieces: &mut dyn Iterator<Item = Value>| {
        event(
            stream,
            "content_block_start",
            &json!({"type": "content_block_start", "index": at, "content_block": start}),
        );
        for delta in pieces {
            let delta = json!({"type": "content_block_delta", "index": at, "delta": delta});
            event(stream, "content_block_delta", &delta);
        }
        event(stream, "content_block_stop", &json!({"type": "content_block_stop", "index": at}));
    };
    let size = SIZE / 3 / 150;
    let mut text = (0..size).map(|at| json!({"type": "text_delta", "text": WORDS[at % WORDS.len()]}));
    block(&mut stream, 0, json!({"type": "text", "text": ""}), &mut text);
    for at in 1..3 {
        let mut pieces =
            argument_pieces(size).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        let start = json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": "write", "input": {}});
        block(&mut stream, at, start, &mut pieces);
    }
    event(
        &mut stream,
        "message_delta",
        &json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 99}}),
    );
    event(&mut stream, "message_stop", &json!({"type": "message_stop"}));
    stream
}

fn openai_responses() -> String {
    let mut stream = String::new();
    let mut number = 0;
    let mut tell = |stream: &mut String, name: &str, mut data: Value| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        number += 1;
        event(stream, name, &data);
    };
    let response = |status: &str, output: Value| json!({"response": {"id": "resp_1", "object": "response", "status": status, "model": "m", "output": output}});
    tell(&mut stream, "response.created", response("in_progress", json!([])));
    let mut output = Vec::new();
    for at in 0..2 {
        let item = |status: &str, arguments: &str| {
            json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"),
                "name": "write", "status": status, "arguments": arguments})
        };
        tell(
            &mut stream,
            "response.output_item.added",
            json!({"output_index": at, "item": item("in_progress", "")}),
        );
        let mut whole = String::new();
        for piece in argument_pieces(SIZE / 2 / 230) {
            whole.push_str(&piece);
            tell(
                &mut stream,
                "response.function_call_arguments.delta",
                json!({"item_id": format!("fc_{at}"), "output_index": at, "delta": piece,
                    "obfuscation": "ab3dE6gH"}),
            );
        }
        tell(
            &mut stream,
            "response.function_call_arguments.done",
            json!({"item_id": format!("fc_{at}"), "output_index": at, "arguments": whole}),
        );
        tell(
            &mut stream,
            "response.output_item.done",
            json!({"output_index": at, "item": item("completed", &whole)}),
        );
        output.push(item("completed", &whole));
    }
    tell(&mut stream, "response.completed", response("completed", Value::Array(output)));
    stream
}

fn openai_chat() -> String {
    let mut stream = String::new();
    let mut tell = |delta: Value, finish: Value| {
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        write!(stream, "data: {chunk}\n\n").expect("a string takes it");
    };
    let size = SIZE / 3 / 220;
    tell(json!({"role": "assistant", "content": ""}), Value::Null);
    for at in 0..size {
        tell(json!({"content": WORDS[at % WORDS.len()]}), Value::Null);
    }
    for at in 0..2 {
        let start = json!({"index": at, "id": format!("call_{at}"), "type": "function",
            "function": {"name": "write", "arguments": ""}});
        tell(json!({"tool_calls": [start]}), Value::Null);
        for piece in argument_pieces(size) {
            tell(json!({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}), Value::Null);
        }
    }
    tell(json!({}), json!("tool_calls"));
    stream.push_str("data: [DONE]\n\n");
    stream
}
