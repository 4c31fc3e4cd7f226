//! One JSON-RPC message as it came, checked and taken apart without a copy; and the bytes of those that go out.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// A message from the client.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// What goes with it.
        params: Option<&'a RawValue>,
    },
    /// The answer to a request of ours.
    Response {
        /// The request's id, as it stands in the message.
        id: &'a RawValue,
        /// What came of it.
        answer: Result<&'a RawValue, &'a RawValue>,
    },
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: Id<'a>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// A request's id: text or a whole number, kept as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id<'a>(&'a str);

/// Why a message is answered with an error of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: Cow<'static, str>,
    pub(crate) data: Option<Value>,
}

/// The codes of JSON-RPC and of MCP that are used here.
pub(crate) mod code {
    pub(crate) const PARSE: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    pub(crate) const BUSY: i32 = -32000;
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    pub(crate) const MISSING_CAPABILITY: i32 = -32021;
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// A message that cannot be acted on: the error, and the id to answer it under where one was found.
pub(crate) type Unusable<'a> = (Option<Id<'a>>, RpcError);

impl<'a> Message<'a> {
    /// Reads one message. A list of messages is refused: no revision that is spoken here has them any more.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Unusable<'a>> {
        // Looked through for what is no text once, not in each of its parts.
        let text = std::str::from_utf8(bytes).map_err(|error| (None, RpcError::not_json(&error)))?;
        let envelope: Envelope<'a> =
            serde_json::from_str(text).map_err(|error| (None, unreadable(bytes, &error)))?;
        let id = envelope.id.map(Id::of).transpose().map_err(|error| (None, error))?;
        let wrong = |what: &'static str| (id, RpcError::invalid_request(what));
        if envelope.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
            return Err(wrong("`jsonrpc` must be \"2.0\""));
        }
        match (envelope.method, envelope.id, envelope.result, envelope.error) {
            (Some(method), _, None, None) => {
                let params = envelope.params;
                if params.is_some_and(|params| !params.get().starts_with('{')) {
                    return Err((id, RpcError::invalid_params("`params` must be an object")));
                }
                Ok(match id {
                    Some(id) => Self::Request(Request { id, method, params }),
                    None => Self::Notification { method, params },
                })
            }
            (None, Some(id), Some(result), None) => Ok(Self::Response { id, answer: Ok(result) }),
            (None, Some(id), None, Some(error)) => Ok(Self::Response { id, answer: Err(error) }),
            _ => Err(wrong("a message has a `method`, or an `id` with `result` or `error`")),
        }
    }
}

fn unreadable(bytes: &[u8], error: &serde_json::Error) -> RpcError {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match (first, error.classify()) {
        (Some(b'['), _) => {
            RpcError::invalid_request("lists of messages are not accepted; send them one by one")
        }
        (Some(_), serde_json::error::Category::Data) => RpcError {
            data: Some(error.to_string().into()),
            ..RpcError::invalid_request("this is no JSON-RPC message")
        },
        _ => RpcError::not_json(error),
    }
}

impl<'a> Id<'a> {
    fn of(raw: &'a RawValue) -> Result<Self, RpcError> {
        let text = raw.get();
        let whole = |text: &str| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            !digits.is_empty() && digits.len() < 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        if text.starts_with('"') && text.len() < LONGEST_ID || whole(text) {
            Ok(Self(text))
        } else {
            Err(RpcError::invalid_request("an `id` is a short text or a whole number"))
        }
    }

    /// An id that was read before and kept.
    pub(crate) fn again(text: &'a str) -> Self {
        Self(text)
    }

    /// The id as it was written.
    pub(crate) fn raw(self) -> &'a str {
        self.0
    }
}

/// An id is answered with and kept while its request runs.
const LONGEST_ID: usize = 1024;

impl RpcError {
    pub(crate) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    fn not_json(why: &impl std::fmt::Display) -> Self {
        Self { data: Some(why.to_string().into()), ..Self::new(code::PARSE, "the message is not JSON") }
    }

    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        let shown: String = method.chars().take(80).collect();
        Self::new(code::METHOD_NOT_FOUND, format!("there is no method {shown:?} here"))
    }

    /// The whole answer to the request with this id; `null` where none was found.
    pub(crate) fn answer(&self, id: Option<Id<'_>>) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            code: i32,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            data: Option<&'a Value>,
        }
        let mut out = opened(id);
        out.extend_from_slice(br#","error":"#);
        let body = Body { code: self.code, message: &self.message, data: self.data.as_ref() };
        push(&mut out, &body);
        out.push(b'}');
        out
    }
}

/// The answer of a request that succeeded; `write` writes the result.
pub(crate) fn answer(id: Id<'_>, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = opened(Some(id));
    out.extend_from_slice(br#","result":"#);
    write(&mut out);
    out.push(b'}');
    out
}

fn opened(id: Option<Id<'_>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.map_or("null", Id::raw).as_bytes());
    out
}

/// A notification to the client.
pub(crate) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    push(&mut out, method);
    out.extend_from_slice(br#","params":"#);
    push(&mut out, params);
    out.push(b'}');
    out
}

/// A request to the client.
pub(crate) fn request(id: &str, method: &str, params: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    push(&mut out, id);
    out.extend_from_slice(br#","method":"#);
    push(&mut out, method);
    out.extend_from_slice(br#","params":"#);
    push(&mut out, params);
    out.push(b'}');
    out
}

/// Writes a value. What is written here is text, numbers and maps with text for keys, which always can be.
pub(crate) fn push<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let from = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(from);
        out.extend_from_slice(b"null");
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
