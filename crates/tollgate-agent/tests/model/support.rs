//! The small world of these tests: a conversation in each provider's form, and one with calls in it.

use serde_json::{Value, json};
use tollgate::wire::{CacheMark, Provider, WireTool, tools_json};
use tollgate_agent::{
    model::{Broken, Reply, Request, Step},
    provider::Api,
};

pub(crate) const APIS: [Api; 3] = [Api::Anthropic, Api::OpenAi, Api::Chat];

/// A model's name at the stand-in.
pub(crate) fn name(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "anthropic:claude-sonnet-4-5",
        Api::OpenAi => "openai:gpt-5",
        Api::Chat => "chat:gpt-4o",
    }
}

pub(crate) fn user(api: Api, text: &str) -> Value {
    match api {
        Api::OpenAi => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
        Api::Anthropic | Api::Chat => json!({"role": "user", "content": text}),
    }
}

pub(crate) fn tool(name: &str) -> WireTool {
    WireTool {
        name: name.to_owned(),
        description: "Reads a file.".to_owned(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        strict: false,
        defer: false,
    }
}

/// The question “hello”, with one tool and a system text.
pub(crate) fn hello(api: Api) -> Request {
    ask(api, vec![user(api, "hello")])
}

pub(crate) fn ask(api: Api, messages: Vec<Value>) -> Request {
    Request::new(messages).with_system("Be brief.").with_tools(tools_json(
        api.provider(),
        &[tool("read")],
        CacheMark::Last,
    ))
}

/// The results of calls, each with this text, appended to a conversation.
pub(crate) fn answer(provider: Provider, messages: &mut Vec<Value>, turn: &Value, results: &[(&str, &str)]) {
    match turn {
        Value::Array(items) => messages.extend(items.clone()),
        message => messages.push(message.clone()),
    }
    match provider {
        Provider::Anthropic => {
            let blocks: Vec<_> = results
                .iter()
                .map(|(id, text)| json!({"type": "tool_result", "tool_use_id": id, "content": text}))
                .collect();
            messages.push(json!({"role": "user", "content": blocks}));
        }
        Provider::OpenAiResponses => messages.extend(
            results
                .iter()
                .map(|(id, text)| json!({"type": "function_call_output", "call_id": id, "output": text})),
        ),
        Provider::OpenAiChat => messages.extend(
            results.iter().map(|(id, text)| json!({"role": "tool", "tool_call_id": id, "content": text})),
        ),
    }
}

/// Every step of a reply, with a limit to how long it may take.
pub(crate) async fn steps(mut reply: Reply) -> Vec<Step> {
    let all = async {
        let mut steps = Vec::new();
        while let Some(step) = reply.next().await {
            steps.push(step);
        }
        steps
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), all).await.expect("a reply ends")
}

/// How a reply broke.
pub(crate) async fn broken(reply: Reply) -> Broken {
    match steps(reply).await.pop() {
        Some(Step::Broken(broken)) => broken,
        other => panic!("expected a broken reply: {other:?}"),
    }
}
