//! Answers go back in the form their provider wants: one result for each call, under the call's own id.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{Provider, anthropic, history::NO_OUTPUT, image, openai_chat, openai_responses};
use crate::outcome::{Failure, FailureKind, Fence, Item, Outcome, Refusal, RefusalCode, Settled, Status};

/// The next message with the results of a turn, in the order given.
///
/// Anthropic: one user message of `tool_result` blocks. Responses: an array of `function_call_output` items. Chat:
/// an array of `role: tool` messages and, where there are pictures, one user message that shows them.
///
/// Calls that are not function calls are answered as such only by [`results_for`], which knows the turn.
pub fn results_message(provider: Provider, answers: &[Settled]) -> Value {
    results_message_with(provider, answers, ChatImages::Shown)
}

/// The same, as an answer to this turn, given as its [`ModelTurn::message`](super::ModelTurn::message): each call
/// in its own kind.
pub fn results_for(provider: Provider, turn: &Value, answers: &[Settled]) -> Value {
    match provider {
        Provider::OpenAiResponses => openai_responses::results(answers, Some(turn)),
        _ => results_message(provider, answers),
    }
}

/// The same, for chat servers whose model may not see pictures.
pub fn results_message_with(provider: Provider, answers: &[Settled], images: ChatImages) -> Value {
    match provider {
        Provider::Anthropic => anthropic::results(answers),
        Provider::OpenAiResponses => openai_responses::results(answers, None),
        Provider::OpenAiChat => openai_chat::results(answers, images),
    }
}

/// The next message after a turn that holds no call to be answered and is wrong as a whole: it says so, in the
/// words of the user, since there is no id to answer under.
pub fn fault_message(provider: Provider, faults: &[String]) -> Value {
    let text = fault_text(&faults.join(" ")).to_string();
    match provider {
        Provider::Anthropic => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
        Provider::OpenAiResponses => {
            json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}])
        }
        Provider::OpenAiChat => json!([{"role": "user", "content": text}]),
    }
}

/// A fault of a turn, in the form of a refusal.
pub(super) fn fault_text(fault: &str) -> Value {
    json!({
        "status": Status::Refused,
        "code": RefusalCode::ProtocolError,
        "reason": fault,
        "hint": "Nothing ran. Propose each call again, whole and with an id of its own.",
    })
}

/// What becomes of pictures in chat completions, whose results are text only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatImages {
    /// A user message after the results shows them.
    Shown,
    /// The result only says that there was one.
    Mentioned,
}

/// A part of a result, in no provider's form yet.
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Image { media_type: &'static str, base64: &'a str },
}

/// The parts of an answer, at least one, no text among them empty. Only an answer that is ok has pictures.
pub(super) fn pieces(answer: &Settled) -> Vec<Piece<'_>> {
    let fence = Fence::of(answer);
    let output = match &answer.outcome {
        Outcome::Ok(output) => output,
        Outcome::Refused(refusal) => return vec![error_text(refused(answer, refusal))],
        Outcome::Failed(failure) => return vec![error_text(failed(answer, failure, fence.as_ref()))],
    };
    let pieces = output.items.iter().filter_map(piece);
    let mut pieces: Vec<_> = pieces.map(|piece| fenced(piece, fence.as_ref())).collect();
    if pieces.is_empty() {
        pieces.push(Piece::Text(Cow::Borrowed(NO_OUTPUT)));
    }
    let context = answer.context.iter().filter(|text| !text.trim().is_empty());
    pieces.extend(context.map(|text| Piece::Text(Cow::Borrowed(text))));
    pieces
}

/// The text of an answer where nothing else can be sent, and the pictures it leaves out.
pub(super) fn text_only(answer: &Settled) -> (String, Vec<Piece<'_>>) {
    let (mut text, mut images) = (String::new(), Vec::new());
    for piece in pieces(answer) {
        if !text.is_empty() {
            text.push('\n');
        }
        match piece {
            Piece::Text(more) => text.push_str(&more),
            Piece::Image { media_type, .. } => {
                text.push_str("(a picture, ");
                text.push_str(media_type);
                text.push(')');
                images.push(piece);
            }
        }
    }
    (text, images)
}

fn piece(item: &Item) -> Option<Piece<'_>> {
    match item {
        Item::Text { text } if text.trim().is_empty() => None,
        Item::Text { text } => Some(Piece::Text(Cow::Borrowed(text))),
        Item::Json { json } => Some(Piece::Text(Cow::Owned(json.to_string()))),
        Item::Image { mime, data } => Some(match image::media_type(mime, data) {
            Ok(media_type) => Piece::Image { media_type, base64: data },
            Err(why) => Piece::Text(Cow::Owned(why)),
        }),
    }
}

fn fenced<'a>(piece: Piece<'a>, fence: Option<&Fence>) -> Piece<'a> {
    match (piece, fence) {
        (Piece::Text(text), Some(fence)) => Piece::Text(Cow::Owned(fence.around(&text))),
        (piece, _) => piece,
    }
}

fn error_text(mut error: Map<String, Value>) -> Piece<'static> {
    error.retain(|_, value| !value.is_null());
    Piece::Text(Cow::Owned(Value::Object(error).to_string()))
}

fn refused(answer: &Settled, refusal: &Refusal) -> Map<String, Value> {
    let violations = Some(&refusal.violations).filter(|list| !list.is_empty());
    entries(
        answer,
        [
            ("code", json!(refusal.code)),
            ("reason", json!(refusal.reason)),
            ("hint", json!(refusal.hint)),
            ("violations", json!(violations)),
            ("retry_after_ms", json!(refusal.retry_after_ms)),
        ],
    )
}

fn failed(answer: &Settled, failure: &Failure, fence: Option<&Fence>) -> Map<String, Value> {
    let hint = failure.hint.as_deref().or(match failure.kind {
        FailureKind::Retryable => Some("Nothing was done; trying again is safe."),
        FailureKind::Fatal => None,
        FailureKind::Unknown => Some("Whether it took effect is not known: look before doing it again."),
    });
    let reason = match fence {
        _ if failure.message.trim().is_empty() => Cow::Borrowed("no reason given"),
        Some(fence) => Cow::Owned(fence.around(&failure.message)),
        None => Cow::Borrowed(&*failure.message),
    };
    entries(
        answer,
        [
            ("reason", json!(reason)),
            ("hint", json!(hint)),
            ("retry_after_ms", json!(failure.retry_after.map(|wait| u64::try_from(wait.as_millis()).ok()))),
        ],
    )
}

// What hooks add stays inside the JSON, so that the whole can still be read as such.
fn entries<const N: usize>(answer: &Settled, fields: [(&str, Value); N]) -> Map<String, Value> {
    let context = Some(&answer.context).filter(|list| !list.is_empty());
    [("status", json!(answer.status()))]
        .into_iter()
        .chain(fields)
        .chain([("context", json!(context))])
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}
