//! A trace request in protobuf's bytes: the form every OTLP receiver takes, while JSON is refused by some.

use serde_json::Value;

/// A field of a message of OTLP's schema: its name in JSON, its number, and what it holds.
struct Field(&'static str, u32, Kind);

enum Kind {
    Message(&'static [Field]),
    /// A value of any kind: the one message that holds itself.
    Any,
    Text,
    /// Bytes, in JSON as hexadecimal digits.
    Hex,
    /// 64 bits, in JSON as a text of decimal digits.
    Fixed,
    Int,
}

use Kind::{Any, Fixed, Hex, Int, Message, Text};

const REQUEST: &[Field] = &[Field("resourceSpans", 1, Message(RESOURCE_SPANS))];
const RESOURCE_SPANS: &[Field] =
    &[Field("resource", 1, Message(RESOURCE)), Field("scopeSpans", 2, Message(SCOPE_SPANS))];
const RESOURCE: &[Field] = &[Field("attributes", 1, Message(ATTRIBUTE))];
const SCOPE_SPANS: &[Field] = &[Field("scope", 1, Message(SCOPE)), Field("spans", 2, Message(SPAN))];
const SCOPE: &[Field] = &[Field("name", 1, Text), Field("version", 2, Text)];
const SPAN: &[Field] = &[
    Field("traceId", 1, Hex),
    Field("spanId", 2, Hex),
    Field("parentSpanId", 4, Hex),
    Field("name", 5, Text),
    Field("kind", 6, Int),
    Field("startTimeUnixNano", 7, Fixed),
    Field("endTimeUnixNano", 8, Fixed),
    Field("attributes", 9, Message(ATTRIBUTE)),
    Field("events", 11, Message(EVENT)),
    Field("status", 15, Message(STATUS)),
];
const EVENT: &[Field] = &[Field("timeUnixNano", 1, Fixed), Field("name", 2, Text)];
const STATUS: &[Field] = &[Field("message", 2, Text), Field("code", 3, Int)];
const ATTRIBUTE: &[Field] = &[Field("key", 1, Text), Field("value", 2, Any)];
const ANY: &[Field] =
    &[Field("stringValue", 1, Text), Field("intValue", 3, Int), Field("arrayValue", 5, Message(ARRAY))];
const ARRAY: &[Field] = &[Field("values", 1, Any)];

/// The bytes of an `ExportTraceServiceRequest`. `None` where it holds what these fields cannot say: nothing is left out.
pub(super) fn request(request: &Value) -> Option<Vec<u8>> {
    message(request, REQUEST)
}

fn message(value: &Value, fields: &[Field]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for (name, value) in value.as_object()? {
        let Field(_, number, kind) = fields.iter().find(|field| field.0 == name)?;
        match value {
            Value::Array(values) => {
                values.iter().try_for_each(|value| field(&mut out, *number, kind, value))?;
            }
            value => field(&mut out, *number, kind, value)?,
        }
    }
    Some(out)
}

fn field(out: &mut Vec<u8>, number: u32, kind: &Kind, value: &Value) -> Option<()> {
    match kind {
        Message(fields) => bytes(out, number, &message(value, fields)?),
        Any => bytes(out, number, &message(value, ANY)?),
        Text => bytes(out, number, value.as_str()?.as_bytes()),
        Hex => bytes(out, number, &unhex(value.as_str()?)?),
        Fixed => {
            tag(out, number, 1);
            out.extend_from_slice(&value.as_str()?.parse::<u64>().ok()?.to_le_bytes());
        }
        Int => {
            tag(out, number, 0);
            let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
            varint(out, number);
        }
    }
    Some(())
}

fn bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    tag(out, number, 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn tag(out: &mut Vec<u8>, number: u32, wire: u32) {
    varint(out, u64::from(number << 3 | wire));
}

/// Seven bits a byte, the lowest first; the high bit says that more follow.
#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are what is meant")]
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    (0..text.len()).step_by(2).map(digit).collect()
}
