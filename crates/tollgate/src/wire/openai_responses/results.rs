//! Answers as `function_call_output` items, or what else their calls ask for.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::turn::CUSTOM;
use crate::{
    outcome::Settled,
    wire::{
        history::word,
        results::{Piece, pieces, text_only},
    },
};

/// One item for each answer: a string, or a list of parts where there are pictures. `turn` is what is answered,
/// where it is at hand: a call is answered in its own kind.
pub(in crate::wire) fn results(answers: &[Settled], turn: Option<&Value>) -> Value {
    let items = turn.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let custom: HashSet<&str> =
        items.iter().filter(|item| word(item, "type") == CUSTOM).map(|item| word(item, "call_id")).collect();
    answers
        .iter()
        .map(|answer| {
            let is_custom = custom.contains(answer.id.as_str());
            let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
            json!({"type": kind, "call_id": answer.id, "output": output(answer)})
        })
        .collect()
}

fn output(answer: &Settled) -> Value {
    let (text, images) = text_only(answer);
    if images.is_empty() {
        return json!(text);
    }
    pieces(answer)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => json!({"type": "input_text", "text": text}),
            Piece::Image { media_type, base64 } => {
                json!({"type": "input_image", "image_url": format!("data:{media_type};base64,{base64}")})
            }
        })
        .collect()
}
