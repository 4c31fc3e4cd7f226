//! The bytes of a whole answer as JSON text: what is damaged is still looked through, so that its calls are answered.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    ModelTurn, Stop,
    turn::{Draft, MAX_BODY_BYTES, WireError, shown},
};

/// An answer that can be looked into, and what is wrong with it.
pub(super) struct Body<'a> {
    text: Cow<'a, str>,
    /// Bytes had to be replaced to make it a text.
    not_utf8: bool,
    /// It is not JSON; what there is of it was closed where it breaks off.
    not_json: Option<WireError>,
}

/// Why a call is refused whose bytes are not text.
pub(super) const NOT_UTF8: &str =
    "The answer holds bytes that are not UTF-8, so the arguments are not what the model wrote.";

const NOT_WHOLE: &str = "The answer is not whole JSON, so the arguments may not be what the model wrote.";

impl<'a> Body<'a> {
    /// Skips a byte-order mark; replaces what is not UTF-8; closes what is not whole.
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        if bytes.len() > MAX_BODY_BYTES {
            return Err(WireError::TooLarge { size: bytes.len(), limit: MAX_BODY_BYTES });
        }
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(WireError::Empty);
        }
        let text = String::from_utf8_lossy(bytes);
        let not_utf8 = matches!(text, Cow::Owned(_));
        let Err(error) = serde_json::from_str::<&RawValue>(&text) else {
            return Ok(Self { text, not_utf8, not_json: None });
        };
        let not_json = WireError::NotJson { message: message(&error), shown: shown(&text) };
        match closed(&text[..place(&text, &error)]) {
            Some(closed) => Ok(Self { text: Cow::Owned(closed), not_utf8, not_json: Some(not_json) }),
            None => Err(not_json),
        }
    }

    /// The whole as one JSON text.
    pub(super) fn json(&self) -> Result<&RawValue, WireError> {
        serde_json::from_str(&self.text)
            .map_err(|error| WireError::NotJson { message: message(&error), shown: shown(&self.text) })
    }

    /// The turn that was found. Of a damaged answer every call is refused; one without calls is no turn.
    pub(super) fn finish(self, read: Result<Draft, WireError>) -> Result<ModelTurn, WireError> {
        let mut draft = match (read, &self.not_json) {
            (Ok(draft), Some(error)) if draft.calls.is_empty() => return Err(error.clone()),
            (Err(_), Some(error)) => return Err(error.clone()),
            (read, _) => read?,
        };
        if let Some(error) = self.not_json {
            draft.stop = Some(Stop::Failed(error.to_string()));
            draft.refuse_all(NOT_WHOLE);
        }
        if self.not_utf8 {
            draft.refuse_all(NOT_UTF8);
        }
        Ok(draft.finish())
    }
}

fn message(error: &serde_json::Error) -> String {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map_or(&*full, |(message, _)| message);
    format!("{message} in line {}", error.line())
}

/// Where in the text the parser stopped.
fn place(text: &str, error: &serde_json::Error) -> usize {
    let line: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut place = (line + error.column().saturating_sub(1)).min(text.len());
    if error.is_eof() {
        place = text.len();
    }
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}

/// The beginning of a JSON text, ended after the last part that is whole. `None` where nothing is.
fn closed(text: &str) -> Option<String> {
    let mut whole = None;
    walk(text, |at, byte| match byte {
        b',' => whole = Some(at),
        _ => whole = Some(at + 1),
    });
    let mut closed = text[..whole?].to_owned();
    let mut open = Vec::new();
    walk(&text[..whole?], |_, byte| match byte {
        b'{' => open.push('}'),
        b'[' => open.push(']'),
        b',' => {}
        _ => drop(open.pop()),
    });
    closed.extend(open.into_iter().rev());
    serde_json::from_str::<&RawValue>(&closed).is_ok().then_some(closed)
}

/// Every bracket and comma that is not part of a string.
fn walk(text: &str, mut found: impl FnMut(usize, u8)) {
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' | b'}' | b']' | b',' if !in_string => found(at, byte),
            _ => {}
        }
    }
}
