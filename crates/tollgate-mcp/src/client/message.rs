//! Messages of JSON-RPC, read lazily and written once.

use std::{borrow::Cow, fmt::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

/// One message, its parts not yet looked into.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
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

impl Envelope<'_> {
    /// True for an object that is neither marked as a message nor has what an answer has.
    pub(super) fn is_noise(&self) -> bool {
        self.jsonrpc.is_none() && self.result.is_none() && self.error.is_none()
    }
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

/// The fields of an object as JSON, without the brackets around them. They are text, numbers and maps with text for
/// keys, which can always be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(String);

impl Fields {
    pub(crate) fn of(object: &impl Serialize) -> Self {
        let mut text = serde_json::to_string(object).unwrap_or_default();
        match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(_) => {
                text.pop();
                text.remove(0);
                Self(text)
            }
            None => Self::default(),
        }
    }

    /// Adds them to an object that is being written, after what is there already.
    fn add_to(&self, out: &mut String) {
        if !self.0.is_empty() {
            if !out.ends_with('{') {
                out.push(',');
            }
            out.push_str(&self.0);
        }
    }
}

/// A request as one line without its end. `meta` is what its `_meta` has, all of it together.
pub(super) fn request(
    id: u64,
    method: &'static str,
    params: &Fields,
    meta: [Option<&Fields>; 2],
    progress: bool,
) -> String {
    const AROUND: usize = 96;
    let length = |fields: &Fields| fields.0.len() + 1;
    let meta_length: usize = meta.iter().flatten().map(|fields| length(fields)).sum();
    let mut out = String::with_capacity(AROUND + method.len() + length(params) + meta_length);
    let _ = write!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{");
    params.add_to(&mut out);
    if progress || meta_length > 0 {
        if !out.ends_with('{') {
            out.push(',');
        }
        out.push_str("\"_meta\":{");
        meta.into_iter().flatten().for_each(|fields| fields.add_to(&mut out));
        if progress {
            Fields(format!("\"progressToken\":{id}")).add_to(&mut out);
        }
        out.push('}');
    }
    out.push_str("}}");
    out
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

/// How much of the beginning and the end of a message tells whose answer it is.
const ENDS: usize = 2048;

/// The beginning and the end of a message.
pub(super) fn ends(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.len() <= 2 * ENDS {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned([&bytes[..ENDS], b" ", &bytes[bytes.len() - ENDS..]].concat())
}

/// The id of a message of which only the ends are left: clients and servers write it first or last.
pub(super) fn id_in(ends: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(ends);
    let number = |at: usize| {
        let rest = text[at + 4..].trim_start().strip_prefix(':')?.trim_start();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let after = rest[digits..].trim_start();
        rest[..digits].parse().ok().filter(|_| after.starts_with([',', '}']))
    };
    let (first, last) = (text.find("\"id\""), text.rfind("\"id\""));
    // Before anything else of the message, or after everything: inside, it would be somebody's data.
    let first = first.filter(|at| !text[..*at].contains("\"result\"") && !text[..*at].contains("\"params\""));
    let last = last.filter(|at| text[*at..].trim_end().len() < 40);
    first.and_then(number).or_else(|| last.and_then(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_cut_message_is_found_at_its_ends_and_never_inside() {
        for (ends, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"xxx"#, Some(7)),
            (r#"{"result":{"content":[{"id": 9, "text":"xxx xxx"}]},"jsonrpc":"2.0","id":8}"#, Some(8)),
            (r#"{"result":{"id":5,"text":"xxx xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"#, None),
            (r#"{"jsonrpc":"2.0","id":"7","result":{}"#, None),
            ("noise", None),
        ] {
            assert_eq!(id_in(ends.as_bytes()), id, "{ends}");
        }
    }

    #[test]
    fn a_request_has_its_fields_and_one_meta_of_all_who_have_something_for_it() {
        let (none, call, era) =
            (Fields::default(), Fields::of(&json!({"t": "{}"})), Fields::of(&json!({"v": 1})));
        let params = Fields::of(&json!({"name": "a\"b", "arguments": {}}));
        for (request, expected) in [
            (request(1, "m", &none, [None, None], false), json!({})),
            (request(1, "m", &none, [Some(&none), None], true), json!({"_meta": {"progressToken": 1}})),
            (request(1, "m", &params, [None, None], false), json!({"name": "a\"b", "arguments": {}})),
            (
                request(1, "m", &params, [Some(&call), Some(&era)], true),
                json!({"name": "a\"b", "arguments": {}, "_meta": {"t": "{}", "v": 1, "progressToken": 1}}),
            ),
            (request(1, "m", &none, [None, Some(&era)], false), json!({"_meta": {"v": 1}})),
        ] {
            let said: Value = serde_json::from_str(&request).unwrap();
            assert_eq!(
                said,
                json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": expected}),
                "{request}"
            );
        }
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        assert_eq!(Fields::of(&json!([1])), Fields::default());
        assert_eq!(Fields::of(&json!({})), Fields::default());
    }
}
