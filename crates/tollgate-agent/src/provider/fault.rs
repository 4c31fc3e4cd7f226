//! What went wrong with a request, from a status, a body, an event or a broken connection, as one of the known kinds.

use std::{
    error::Error as _,
    time::{Duration, SystemTime},
};

use reqwest::header::HeaderMap;
use serde_json::Value;
use tollgate::wire::WireError;

use super::Secret;
use crate::model::{ErrorKind, ModelError};

/// Who is asked, for the words of an error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The model, as people type it.
    pub(super) model: &'a str,
    /// Scheme, host and port; no path, no key.
    pub(super) host: &'a str,
    /// The variable the key is read from.
    pub(super) key_variable: &'a str,
    /// The key that was sent. Some servers repeat it in their errors, so it is looked for there.
    pub(super) key: Option<&'a Secret>,
}

impl Asked<'_> {
    /// No key, and one is needed.
    pub(super) fn no_key(&self) -> ModelError {
        ModelError::new(ErrorKind::NoKey, format!("there is no key for {}", self.host))
            .with_hint(format!("set {}, or choose another model.", self.key_variable))
    }

    /// The request did not get through, or its answer did not come back.
    pub(super) fn transport(&self, error: &reqwest::Error) -> ModelError {
        let host = self.host;
        let why = innermost(error);
        if is_tls(error) {
            return ModelError::new(ErrorKind::Tls, format!("no safe connection to {host}: {why}"));
        }
        if error.is_connect() && error.is_timeout() {
            return ModelError::new(ErrorKind::Unreachable, format!("{host} does not answer"));
        }
        if error.is_timeout() {
            return ModelError::new(ErrorKind::TimedOut, format!("nothing came from {host} for too long"));
        }
        if error.is_connect() {
            return ModelError::new(ErrorKind::Unreachable, format!("{host} cannot be reached: {why}"));
        }
        if error.is_builder() {
            return ModelError::new(
                ErrorKind::BadUrl,
                format!("the request to {host} cannot be made: {why}"),
            );
        }
        ModelError::cut(format!("the connection to {host} broke: {why}"))
    }

    /// An answer that is not a success.
    pub(super) fn status(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
        let said = Said::read(body);
        let kind = said.kind().unwrap_or(match status {
            300..=399 | 405 => ErrorKind::NotTheApi,
            // Where it is the model that is not there, it says so.
            404 if !said.speaks_of("model") => ErrorKind::NotTheApi,
            401 => ErrorKind::WrongKey,
            402 => ErrorKind::NoCredit,
            403 => ErrorKind::Forbidden,
            404 => ErrorKind::UnknownModel,
            408 | 504 => ErrorKind::TimedOut,
            413 => ErrorKind::ContextOverflow,
            429 => ErrorKind::RateLimited,
            503 | 529 => ErrorKind::Overloaded,
            500..=599 => ErrorKind::ProviderFailed,
            _ => ErrorKind::Rejected,
        });
        let message = match &said.message {
            Some(message) => message.clone(),
            None if (300..400).contains(&status) => {
                let to = headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or("somewhere else");
                format!("it points to {to}")
            }
            None if is_page(body) => PAGE.to_owned(),
            None => beginning(body),
        };
        self.told(kind, &message)
            .with_status(status)
            .with_retry_after(retry_after(headers))
            .with_request_id(request_id(headers))
    }

    /// An answer that should be a turn and is none.
    pub(super) fn no_turn(&self, error: &WireError, body: &[u8]) -> ModelError {
        match error {
            WireError::Provider { kind, message } => self.provider(kind, message),
            _ if is_page(body) => self.told(ErrorKind::NotTheApi, PAGE),
            WireError::Empty => self.told(ErrorKind::Cut, "the answer is empty"),
            WireError::NotJson { .. } if body.trim_ascii_start().first() == Some(&b'{') => {
                self.told(ErrorKind::Cut, "the answer breaks off in the middle of its JSON")
            }
            WireError::NotJson { .. } => self.told(ErrorKind::NotTheApi, &error.to_string()),
            other => self.told(ErrorKind::Unreadable, &other.to_string()),
        }
    }

    /// An error the provider named, in the body of a success or in the middle of a stream.
    pub(super) fn provider(&self, kind: &str, message: &str) -> ModelError {
        let known = kind_of(kind, message).unwrap_or(ErrorKind::ProviderFailed);
        self.told(known, &format!("{message} ({kind})"))
    }

    /// An error of this kind, with who was asked and what they said.
    pub(super) fn told(&self, kind: ErrorKind, said: &str) -> ModelError {
        let Self { model, host, key_variable, key } = self;
        let said = match key {
            Some(key) => said.replace(key.reveal(), "…"),
            None => said.to_owned(),
        };
        let said = said.trim().trim_end_matches('.');
        match kind {
            ErrorKind::WrongKey if key.is_none() => {
                ModelError::new(ErrorKind::NoKey, format!("{host} wants a key: {said}"))
                    .with_hint(format!("set {key_variable}."))
            }
            ErrorKind::WrongKey => ModelError::new(kind, format!("{host} does not accept the key: {said}"))
                .with_hint(format!("check {key_variable}: is it whole, of this provider, and not revoked?")),
            ErrorKind::UnknownModel => {
                ModelError::new(kind, format!("{host} has no model `{model}`: {said}"))
            }
            ErrorKind::NotTheApi => {
                ModelError::new(kind, format!("{host} is not the API of `{model}`: {said}"))
            }
            ErrorKind::ContextOverflow => {
                ModelError::new(kind, format!("the conversation is too long for `{model}`: {said}"))
            }
            ErrorKind::RateLimited => ModelError::new(kind, format!("{host} limits the rate: {said}")),
            ErrorKind::Overloaded => ModelError::new(kind, format!("{host} is overloaded: {said}")),
            ErrorKind::ProviderFailed => ModelError::new(kind, format!("{host} failed: {said}")),
            ErrorKind::Rejected => ModelError::new(kind, format!("{host} refuses the request: {said}")),
            ErrorKind::Forbidden => ModelError::new(kind, format!("{host} does not allow it: {said}")),
            ErrorKind::NoCredit => ModelError::new(kind, format!("{host} wants to be paid first: {said}")),
            _ => ModelError::new(kind, format!("{host}: {said}")),
        }
    }
}

/// What a body says about an error, in any of the forms servers have for it.
#[derive(Default)]
struct Said {
    words: Vec<String>,
    message: Option<String>,
}

impl Said {
    fn read(body: &[u8]) -> Self {
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return Self::default() };
        // Some servers send a list of one error.
        let body = body.get(0).cloned().unwrap_or(body);
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(&body);
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let words = ["code", "type", "status"].iter().filter_map(|key| text(error, key)).collect();
        let message = text(error, "message")
            .or_else(|| error.as_str().map(str::to_owned))
            .or_else(|| text(&body, "message"))
            .or_else(|| text(&body, "detail"));
        Self { words, message: message.filter(|message| !message.trim().is_empty()) }
    }

    fn speaks_of(&self, word: &str) -> bool {
        self.message.as_ref().is_some_and(|message| message.to_ascii_lowercase().contains(word))
    }

    fn kind(&self) -> Option<ErrorKind> {
        let message = self.message.as_deref().unwrap_or_default();
        self.words.iter().find_map(|word| kind_of(word, message)).or_else(|| kind_of("", message))
    }
}

/// The kind a provider's word or sentence stands for, where it is clearer than the status.
fn kind_of(word: &str, message: &str) -> Option<ErrorKind> {
    let by_word = match word {
        "authentication_error" | "invalid_api_key" | "invalid_authentication" => ErrorKind::WrongKey,
        "permission_error" | "permission_denied" | "PERMISSION_DENIED" => ErrorKind::Forbidden,
        "insufficient_quota" | "billing_error" | "billing_hard_limit_reached" | "billing_not_active" => {
            ErrorKind::NoCredit
        }
        "model_not_found" | "model_not_available" => ErrorKind::UnknownModel,
        "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
            ErrorKind::ContextOverflow
        }
        "rate_limit_error" | "rate_limit_exceeded" | "rate_limit" | "tokens" | "requests" => {
            ErrorKind::RateLimited
        }
        "overloaded_error" | "overloaded" | "server_overloaded" | "engine_overloaded"
        | "unavailable_error" => ErrorKind::Overloaded,
        "timeout_error" => ErrorKind::TimedOut,
        "api_error" | "server_error" | "internal_error" | "internal_server_error" => {
            ErrorKind::ProviderFailed
        }
        _ => return by_sentence(word, message),
    };
    Some(by_sentence(word, message).unwrap_or(by_word))
}

/// Some faults have no word of their own and are told only in a sentence.
fn by_sentence(word: &str, message: &str) -> Option<ErrorKind> {
    let message = message.to_ascii_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    let too_long = [
        "prompt is too long",
        "maximum context length",
        "context window",
        "context size",
        "context length",
        "exceed context limit",
    ];
    if says(&too_long) && word != "rate_limit_exceeded" {
        return Some(ErrorKind::ContextOverflow);
    }
    if says(&["credit balance is too low", "exceeded your current quota"]) {
        return Some(ErrorKind::NoCredit);
    }
    if says(&["model"]) && says(&["not found", "does not exist", "unknown model", "no such model", "model: "])
    {
        return (word != "authentication_error").then_some(ErrorKind::UnknownModel);
    }
    match word {
        "invalid_request_error" | "BadRequestError" => Some(ErrorKind::Rejected),
        _ => None,
    }
}

/// How long the provider asks to wait: seconds, a date, or milliseconds in a header of its own.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(after).ok()?;
    // A date that has passed asks for no wait at all.
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = ["request-id", "x-request-id"].iter().find_map(|name| headers.get(*name))?;
    id.to_str().ok().map(|id| id.chars().take(80).collect())
}

/// What is said of HTML.
pub(super) const PAGE: &str = "a web page came where an answer was expected";

/// True for HTML.
pub(super) fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

fn beginning(body: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(body).trim().chars().take(120).collect();
    if text.is_empty() { "it gave no reason".to_owned() } else { text }
}

/// The last of the reasons behind an error: the ones before it only say that there is one.
fn innermost(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    // The text of a reqwest error may hold the whole address.
    let text = inner.to_string();
    if error.source().is_none() { "no reason given".to_owned() } else { text }
}

fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    // An I/O error shows what it wraps only when asked for it, and leaves it out of the chain.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>()
        || wrapped.is_some_and(|wrapped| is_tls(wrapped))
        || error.source().is_some_and(is_tls)
}
