//! Answers as `role: tool` messages, which are text only; pictures follow in a message of the user's.

use serde_json::{Value, json};

use crate::{
    outcome::Settled,
    wire::results::{ChatImages, Piece, text_only},
};

/// One message for each answer and, where there are pictures to show, one more.
pub(in crate::wire) fn results(answers: &[Settled], images: ChatImages) -> Value {
    let mut messages = Vec::with_capacity(answers.len() + 1);
    let mut shown = Vec::new();
    for answer in answers {
        let (text, pictures) = text_only(answer);
        if images == ChatImages::Shown && !pictures.is_empty() {
            shown.push(json!({"type": "text", "text": format!("From the result of call {}:", answer.id)}));
            shown.extend(pictures.iter().filter_map(image_part));
        }
        messages.push(json!({"role": "tool", "tool_call_id": answer.id, "content": text}));
    }
    if !shown.is_empty() {
        messages.push(json!({"role": "user", "content": shown}));
    }
    Value::Array(messages)
}

fn image_part(piece: &Piece<'_>) -> Option<Value> {
    match piece {
        Piece::Text(_) => None,
        Piece::Image { media_type, base64 } => Some(json!({
            "type": "image_url",
            "image_url": {"url": format!("data:{media_type};base64,{base64}")},
        })),
    }
}
