//! What a request shows the model that it has not seen: everything after its last turn.

use serde_json::Value;
use tollgate::wire::Provider;

/// Something new, and the number of its message, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) message: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A text of the user's side.
    User(String),
    /// The answer to a call.
    Result(Answer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) id: String,
    /// As in our own results: `ok`, `refused` …; `error` where it only is known to be none of `ok`.
    pub(super) status: String,
    pub(super) code: Option<String>,
    pub(super) text: String,
}

/// What is new in a conversation, in order.
pub(super) fn shown(provider: Provider, messages: &[Value]) -> Vec<Shown> {
    let new = messages.iter().rev().take_while(|message| !is_models(provider, message)).count();
    let first = messages.len() - new;
    let mut out = Vec::new();
    for (at, message) in messages.iter().enumerate().skip(first) {
        let mut push = |what| out.push(Shown { message: at + 1, what });
        match provider {
            Provider::Anthropic => anthropic(message, &mut push),
            Provider::OpenAiResponses if word(message, "type").ends_with("_output") => {
                let text = text_of(&message["output"]);
                push(What::Result(Answer::told(word(message, "call_id"), text, Told::InText)));
            }
            Provider::OpenAiChat if word(message, "role") == "tool" => {
                let text = text_of(&message["content"]);
                push(What::Result(Answer::told(word(message, "tool_call_id"), text, Told::InText)));
            }
            _ => push(What::User(text_of(&message["content"]))),
        }
    }
    out
}

fn is_models(provider: Provider, message: &Value) -> bool {
    let assistant = word(message, "role") == "assistant";
    match provider {
        Provider::Anthropic | Provider::OpenAiChat => assistant,
        Provider::OpenAiResponses => match word(message, "type") {
            "" | "message" => assistant,
            kind => !kind.ends_with("_call_output"),
        },
    }
}

fn anthropic(message: &Value, push: &mut impl FnMut(What)) {
    let Some(blocks) = message["content"].as_array() else {
        return push(What::User(text_of(&message["content"])));
    };
    for block in blocks {
        match word(block, "type") {
            "tool_result" => {
                let told = if block["is_error"] == true { Told::Error } else { Told::Ok };
                push(What::Result(Answer::told(
                    word(block, "tool_use_id"),
                    text_of(&block["content"]),
                    told,
                )));
            }
            "text" => push(What::User(word(block, "text").to_owned())),
            _ => {}
        }
    }
}

/// How a provider's form tells whether a call went well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Ok,
    Error,
    /// Only by what the text says.
    InText,
}

impl Answer {
    fn told(id: &str, text: String, told: Told) -> Self {
        let said = Some(&text).filter(|_| told != Told::Ok);
        let said = said.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let field = |key: &str| said.as_ref().and_then(|said| said[key].as_str()).map(str::to_owned);
        let bad = ["refused", "retryable_error", "fatal_error", "unknown"];
        let status = field("status").filter(|status| bad.contains(&status.as_str()));
        let usual = if told == Told::Error { "error" } else { "ok" };
        Self {
            id: id.to_owned(),
            code: status.as_ref().and_then(|_| field("code")),
            status: status.unwrap_or_else(|| usual.to_owned()),
            text,
        }
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| word(part, "text")).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
