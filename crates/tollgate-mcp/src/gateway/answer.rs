//! The one answer of a call, as a client of MCP gets it.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use tollgate::{
    Failure, Refusal, Settled,
    outcome::{FailureKind, Item, Offloaded, Outcome, Phase, RefusalCode, Status, Trust},
    policy::Digest,
};

use super::{
    message::push,
    revision::{Client, Era},
};

/// Writes the result of a call. Everything but a success is marked as an error that the model reads.
///
/// `promised` says that the tool has a schema for its result: one that was put aside cannot keep that promise, and a
/// client that checks would throw all of it away unless it is marked.
pub(crate) fn write(
    out: &mut Vec<u8>,
    settled: &Settled,
    client: &Client,
    way_on: Option<&str>,
    promised: bool,
) {
    out.extend_from_slice(br#"{"content":["#);
    let mut blocks = Blocks { out, first: true };
    let mut structured = None;
    let mut is_error = true;
    match &settled.outcome {
        Outcome::Ok(output) => {
            output.items.iter().for_each(|item| blocks.item(item));
            structured = output.structured().filter(|value| value.is_object() && block_kind(value).is_none());
            is_error = promised && structured.is_none();
        }
        Outcome::Refused(refusal) => blocks.text(&refused(refusal, way_on)),
        Outcome::Failed(failure) => blocks.text(&failed(failure)),
    }
    settled.context.iter().for_each(|context| blocks.text(context));
    out.push(b']');
    if let Some(value) = structured {
        out.extend_from_slice(br#","structuredContent":"#);
        push(out, value);
    }
    out.extend_from_slice(if is_error { br#","isError":true"# } else { br#","isError":false"# });
    if client.era == Era::Stateless {
        out.extend_from_slice(br#","resultType":"complete""#);
    }
    let from = out.len();
    out.extend_from_slice(br#","_meta":"#);
    push(out, &Meta::of(settled));
    if out.ends_with(b":{}") {
        out.truncate(from);
    }
    out.push(b'}');
}

struct Blocks<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        data: &'a str,
        #[serde(rename = "mimeType")]
        mime: &'a str,
    },
}

impl Blocks<'_> {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Text { text } => self.text(text),
            Item::Image { mime, data } => self.push(&Block::Image { data, mime }),
            // What another server said in a form that only this protocol has goes on as it is.
            Item::Json { json } if block_kind(json).is_some() => self.push(json),
            Item::Json { json } => self.text(&json.to_string()),
        }
    }

    fn text(&mut self, text: &str) {
        self.push(&Block::Text { text });
    }

    fn push(&mut self, block: &impl Serialize) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        push(self.out, block);
    }
}

/// The kind of a content block that an output carries as JSON: sound, a resource, a link to one.
fn block_kind(value: &Value) -> Option<&str> {
    let text = |key: &str| value.get(key).is_some_and(Value::is_string);
    let kind = value.get("type")?.as_str()?;
    let whole = match kind {
        "audio" => text("data") && text("mimeType"),
        "resource" => value.pointer("/resource/uri").is_some_and(Value::is_string),
        "resource_link" => text("uri") && text("name"),
        _ => false,
    };
    whole.then_some(kind)
}

/// The words for a call that was stopped before it ran: what is wrong, where, and what would be right.
fn refused(refusal: &Refusal, way_on: Option<&str>) -> String {
    let mut text = format!("refused ({}): {}", refusal.code.as_str(), refusal.reason);
    for violation in &refusal.violations {
        let at = if violation.pointer.is_empty() { "the arguments" } else { &violation.pointer };
        let _ = write!(text, "\n{at}: {}", violation.message);
        if let Some(near) = &violation.did_you_mean {
            let _ = write!(text, " (did you mean `{near}`?)");
        }
    }
    let way_on = way_on.filter(|_| refusal.code == RefusalCode::ApprovalRequired);
    for hint in refusal.hint.as_deref().into_iter().chain(way_on) {
        text.push_str("\nhint: ");
        text.push_str(hint);
    }
    text
}

fn failed(failure: &Failure) -> String {
    let hint = failure.hint.as_deref().or(match failure.kind {
        FailureKind::Retryable => Some("Nothing was done; trying again is safe."),
        FailureKind::Fatal => None,
        FailureKind::Unknown => Some("Whether it took effect is not known: look before doing it again."),
    });
    match hint {
        Some(hint) => format!("{}\nhint: {hint}", failure.message),
        None => failure.message.clone(),
    }
}

/// What travels with an answer beside its content.
#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "tollgate/status", skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(rename = "tollgate/code", skip_serializing_if = "Option::is_none")]
    code: Option<RefusalCode>,
    #[serde(rename = "tollgate/phase", skip_serializing_if = "Option::is_none")]
    phase: Option<Phase>,
    #[serde(rename = "tollgate/digest", skip_serializing_if = "Option::is_none")]
    digest: Option<&'a Digest>,
    #[serde(rename = "tollgate/offloaded", skip_serializing_if = "Option::is_none")]
    offloaded: Option<&'a Offloaded>,
    #[serde(rename = "tollgate/trust", skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    #[serde(rename = "tollgate/replayed", skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
}

impl<'a> Meta<'a> {
    fn of(settled: &'a Settled) -> Self {
        let refusal = settled.refusal();
        Self {
            status: (!matches!(settled.outcome, Outcome::Ok(_))).then(|| settled.status()),
            code: refusal.map(|refusal| refusal.code),
            phase: refusal.map(|_| settled.phase),
            digest: refusal.and_then(|refusal| refusal.digest.as_ref()),
            offloaded: settled.offloaded.as_deref(),
            trust: Some(settled.trust).filter(|trust| *trust == Trust::UntrustedContent && refusal.is_none()),
            replayed: settled.replayed,
        }
    }
}

/// The answer of one of the gateway's own tools.
pub(crate) fn own(out: &mut Vec<u8>, answer: &Result<Value, String>, client: &Client) {
    let (text, structured) = match answer {
        Ok(value) => (value.to_string(), Some(value)),
        Err(reason) => (reason.clone(), None),
    };
    out.extend_from_slice(br#"{"content":["#);
    Blocks { out, first: true }.text(&text);
    out.push(b']');
    if let Some(value) = structured {
        out.extend_from_slice(br#","structuredContent":"#);
        push(out, value);
    }
    out.extend_from_slice(if structured.is_some() { br#","isError":false"# } else { br#","isError":true"# });
    if client.era == Era::Stateless {
        out.extend_from_slice(br#","resultType":"complete""#);
    }
    out.push(b'}');
}
