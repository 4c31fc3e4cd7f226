//! Headers that repeat what the body says, so that others on the way can route by them: they must say the same.

use axum::http::{HeaderMap, HeaderName};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, value::RawValue};

use crate::gateway::{
    list::{Listed, ParamHeader},
    message::{RpcError, code},
    revision::{Brought, Meta},
};

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The one value of a header; `Err` where there are several, or one that is no text.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    match (first.to_str(), values.next()) {
        (Ok(text), None) => Ok(Some(text.trim())),
        _ => Err(mismatch(format!("the header {name} must be given once, as text"))),
    }
}

/// A stateless request's revision stands in its header and in its body.
pub(super) fn same_revision(headers: &HeaderMap, meta: &Meta<'_>) -> Result<(), RpcError> {
    let header = only(headers, &VERSION)?;
    match (meta.revision(), header) {
        (Some(body), Some(header)) if body == header => Ok(()),
        (Some(body), header) => {
            let header = header.unwrap_or("missing");
            Err(mismatch(format!("the header MCP-Protocol-Version is {header}, the body says {body}")))
        }
        // The body lacks it: that is said with whatever else it lacks.
        (None, _) => Ok(()),
    }
}

/// Method, name and marked arguments of a stateless request stand in its headers as they do in its body.
pub(super) fn same_words(
    headers: &HeaderMap,
    method: &str,
    brought: &Brought<'_>,
    listed: &Listed,
) -> Result<(), RpcError> {
    match only(headers, &METHOD)? {
        Some(header) if header == method => {}
        Some(header) => {
            return Err(mismatch(format!("the header Mcp-Method is {header:?}, the body says {method:?}")));
        }
        None => return Err(mismatch("the header Mcp-Method is missing")),
    }
    if method != "tools/call" {
        return Ok(());
    }
    // A call without a name is told so with what else it lacks.
    let Some(called) = brought.name() else { return Ok(()) };
    match only(headers, &NAME)?.map(decoded) {
        Some(Some(name)) if name == called => {}
        Some(Some(name)) => {
            return Err(mismatch(format!("the header Mcp-Name is {name:?}, the body says {called:?}")));
        }
        Some(None) => return Err(mismatch("the header Mcp-Name is no Base64 text")),
        None => return Err(mismatch("the header Mcp-Name is missing")),
    }
    match listed.headers.iter().find(|(label, _)| **label == *called) {
        Some((_, marked)) => same_arguments(headers, marked, brought.arguments),
        None => Ok(()),
    }
}

fn same_arguments(
    headers: &HeaderMap,
    marked: &[ParamHeader],
    arguments: Option<&RawValue>,
) -> Result<(), RpcError> {
    let arguments: Value = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    for ParamHeader { path, header } in marked {
        let Ok(name) = format!("mcp-param-{}", header.to_ascii_lowercase()).parse::<HeaderName>() else {
            continue;
        };
        let body = path.iter().try_fold(&arguments, |value, key| value.get(key)).and_then(written);
        match (only(headers, &name)?.map(decoded), body) {
            (None, None) => {}
            (Some(Some(header)), Some(body)) if same(&header, &body) => {}
            (Some(_), None) => {
                return Err(mismatch(format!("the header {name} is given, the argument is not")));
            }
            (None, Some(_)) => return Err(mismatch(format!("the header {name} is missing"))),
            (Some(_), Some(_)) => return Err(mismatch(format!("the header {name} and its argument differ"))),
        }
    }
    Ok(())
}

/// Equal as text, or as numbers that are written differently.
fn same(header: &str, body: &str) -> bool {
    header == body
        || matches!((header.parse::<f64>(), body.parse::<f64>()), (Ok(one), Ok(two)) if one.to_bits() == two.to_bits())
}

fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A value that could not travel as it is comes as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|inner| inner.strip_suffix("?=")) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn mismatch(message: impl Into<std::borrow::Cow<'static, str>>) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, message)
}
