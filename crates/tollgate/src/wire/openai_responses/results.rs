//! Answers as `function_call_output` items.

use serde_json::{Value, json};

use crate::{
    outcome::Settled,
    wire::results::{Piece, pieces, text_only},
};

/// One item for each answer: a string, or a list of parts where there are pictures.
pub(in crate::wire) fn results(answers: &[Settled]) -> Value {
    answers
        .iter()
        .map(|answer| json!({"type": "function_call_output", "call_id": answer.id, "output": output(answer)}))
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
