//! Answers as one user message of `tool_result` blocks.

use serde_json::{Value, json};

use crate::{
    outcome::{Settled, Status},
    wire::results::{Piece, pieces},
};

/// One user message, a block for each answer. Everything but `ok` is marked as an error and is text.
pub(in crate::wire) fn results(answers: &[Settled]) -> Value {
    let blocks: Vec<Value> = answers.iter().map(result).collect();
    json!({"role": "user", "content": blocks})
}

fn result(answer: &Settled) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": answer.id, "content": content(answer)});
    if answer.status() != Status::Ok {
        block["is_error"] = json!(true);
    }
    block
}

fn content(answer: &Settled) -> Value {
    let pieces = pieces(answer);
    if let [Piece::Text(text)] = &pieces[..] {
        return json!(text);
    }
    pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => json!({"type": "text", "text": text}),
            Piece::Image { media_type, base64 } => json!({
                "type": "image",
                "source": {"type": "base64", "media_type": media_type, "data": base64},
            }),
        })
        .collect()
}
