//! What the real APIs refuse, written down from their documentation and error messages, independently of the code
//! that makes requests. Where they differ from day to day, the stricter reading is taken.

mod schema;
mod anthropic;
mod anthropic_tools;
mod anthropic_messages;
mod openai_tools;
mod responses;
mod chat;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::StandIn;
use crate::provider::Api;

/// A request that was refused, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// The rule it broke, by a short name.
    pub rule: &'static str,
    /// The words the client gets.
    pub message: String,
}

/// Whether a rule holds.
type Judged = Result<(), Refused>;

impl Refused {
    pub(super) fn new(status: u16, rule: &'static str, message: impl Into<String>) -> Self {
        Self { status, rule, message: message.into() }
    }

    /// The error in the provider's form.
    pub(super) fn body(&self, api: Api) -> String {
        let kind = match (self.status, api) {
            (401, Api::Anthropic) => "authentication_error",
            (404, Api::Anthropic) => "not_found_error",
            (500.., Api::Anthropic) => "api_error",
            (500.., _) => "server_error",
            _ => "invalid_request_error",
        };
        let code = match self.status {
            401 => Some("invalid_api_key"),
            404 => Some("model_not_found"),
            _ => None,
        };
        match api {
            Api::Anthropic => json!({"type": "error", "error": {"type": kind, "message": self.message}}),
            Api::OpenAi | Api::Chat => {
                json!({"error": {"message": self.message, "type": kind, "param": null, "code": code}})
            }
        }
        .to_string()
    }
}

/// Judges a request: the first rule it breaks, if any.
pub fn judge(api: Api, headers: &HeaderMap, body: &Value) -> Judged {
    key(api, headers)?;
    let json = header(headers, "content-type").is_some_and(|kind| kind.starts_with("application/json"));
    rule(json, "content_type", "the content type is not application/json")?;
    rule(body.is_object(), "body", "the body is not a JSON object")?;
    if api == Api::Anthropic {
        rule(
            header(headers, "anthropic-version").is_some(),
            "version",
            "anthropic-version: header is required",
        )?;
    }
    model(body)?;
    rule(body.get("stream").is_none_or(Value::is_boolean), "stream", "stream: not a boolean")?;
    match api {
        Api::Anthropic => anthropic::judge(body),
        Api::OpenAi => responses::judge(body),
        Api::Chat => chat::judge(body),
    }
}

fn key(api: Api, headers: &HeaderMap) -> Judged {
    let bearer = header(headers, "authorization").and_then(|value| value.strip_prefix("Bearer "));
    let key = match api {
        Api::Anthropic => header(headers, "x-api-key").or(bearer),
        Api::OpenAi | Api::Chat => bearer,
    };
    match key {
        None => Err(Refused::new(401, "no_key", "You didn't provide an API key")),
        Some(key) if key != StandIn::key() => Err(Refused::new(401, "wrong_key", "invalid x-api-key")),
        Some(_) => Ok(()),
    }
}

fn model(body: &Value) -> Judged {
    match body["model"].as_str() {
        None | Some("") => refuse("model", "model: field required"),
        Some("missing") => Err(Refused::new(
            404,
            "unknown_model",
            "The model `missing` does not exist or you do not have access",
        )),
        Some(_) => Ok(()),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn rule(holds: bool, name: &'static str, message: impl Into<String>) -> Judged {
    if holds { Ok(()) } else { refuse(name, message) }
}

fn refuse(name: &'static str, message: impl Into<String>) -> Judged {
    Err(Refused::new(400, name, message))
}

/// Refuses fields nobody knows.
fn only(object: &Value, known: &[&str], at: &str) -> Judged {
    let fields = object.as_object();
    match fields.into_iter().flat_map(|fields| fields.keys()).find(|key| !known.contains(&key.as_str())) {
        Some(key) => refuse("unknown_field", format!("{at}.{key}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

/// The string under a key, empty where there is none.
fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_name(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// An empty list where there is none.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
