//! Messages of JSON-RPC, read lazily and written once.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// One message, its parts not yet looked into.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// What an `error` holds.
#[derive(Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL: i64 = -32603;

/// A request as one line without its end.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{},\"params\":{params}}}", json!(method))
}

pub(super) fn notification(method: &str, params: Option<&Value>) -> String {
    match params {
        Some(params) => format!("{{\"jsonrpc\":\"2.0\",\"method\":{},\"params\":{params}}}", json!(method)),
        None => format!("{{\"jsonrpc\":\"2.0\",\"method\":{}}}", json!(method)),
    }
}

/// An answer to a request of the server's, whose id goes back as it came.
pub(super) fn answer(id: &RawValue, answer: &Result<Value, (i64, String)>) -> String {
    match answer {
        Ok(result) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.get()),
        Err((code, message)) => {
            let error = json!({"code": code, "message": message});
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", id.get())
        }
    }
}
