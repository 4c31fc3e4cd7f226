//! Anthropic's cache marks on a conversation: where the next request will begin the same.

use std::borrow::Cow;

use serde_json::{Value, json};

/// How many messages of the user are marked: the last, which the next request repeats, and the one before, which
/// this one repeats. With the system text and the tools that is all a request may have.
const MARKED: usize = 2;

/// The messages with their marks, those that bear none as they are.
///
/// A conversation that has marks already keeps them and gets none.
pub(super) fn marked(messages: &[Value]) -> Vec<Cow<'_, Value>> {
    let mut out: Vec<_> = messages.iter().map(Cow::Borrowed).collect();
    if messages.iter().any(has_mark) {
        return out;
    }
    let users = out.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in users.take(MARKED) {
        if let Some(with_mark) = mark(message) {
            *message = Cow::Owned(with_mark);
        }
    }
    out
}

pub(super) fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}

// Asked of every message of a history: a few keys are looked through sooner than one is hashed.
fn has_mark(message: &Value) -> bool {
    let blocks = field(message, "content").and_then(Value::as_array);
    blocks.into_iter().flatten().any(|block| field(block, "cache_control").is_some())
}

fn field<'a>(of: &'a Value, name: &str) -> Option<&'a Value> {
    of.as_object()?.iter().find_map(|(key, value)| (key == name).then_some(value))
}

fn mark(message: &Value) -> Option<Value> {
    let mut message = message.clone();
    match &mut message["content"] {
        Value::String(text) if !text.trim().is_empty() => {
            let text = std::mem::take(text);
            message["content"] = json!([{"type": "text", "text": text, "cache_control": ephemeral()}]);
        }
        Value::Array(blocks) => {
            let last = blocks.last_mut().and_then(Value::as_object_mut)?;
            let bears = match last.get("type").and_then(Value::as_str)? {
                "text" => {
                    last.get("text").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
                }
                "tool_result" | "image" | "document" => true,
                _ => false,
            };
            if !bears {
                return None;
            }
            last.insert("cache_control".to_owned(), ephemeral());
        }
        _ => return None,
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(messages: &[Value]) -> Vec<usize> {
        let marked = marked(messages);
        (0..marked.len()).filter(|at| has_mark(&marked[*at])).collect()
    }

    #[test]
    fn the_last_two_messages_of_the_user_are_marked_and_nothing_else_changes() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let model = json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]});
        let messages = [user("1"), model.clone(), user("2"), model.clone(), user("3")];
        assert_eq!(marks(&messages), [2, 4]);
        let after = marked(&messages);
        assert!([0, 1, 3].iter().all(|at| *after[*at] == messages[*at]));
        let block = json!([{"type": "text", "text": "3", "cache_control": {"type": "ephemeral"}}]);
        assert_eq!(after[4]["content"], block);
        assert_eq!(marks(&[user("1"), model]), [0]);
        assert_eq!(marks(&[]), [0; 0]);
    }

    #[test]
    fn what_may_bear_no_mark_gets_none_and_marks_that_are_there_stay_alone() {
        let odd = |block: Value| [json!({"role": "user", "content": [block]})];
        assert_eq!(marks(&odd(json!({"type": "text", "text": " "}))), [0; 0]);
        assert_eq!(marks(&odd(json!({"type": "moon"}))), [0; 0]);
        assert_eq!(marks(&odd(json!({"type": "tool_result", "tool_use_id": "c"}))), [0]);
        let own = [
            json!({"role": "user", "content": [{"type": "text", "text": "1", "cache_control": {"type": "ephemeral"}}]}),
            json!({"role": "assistant", "content": "x"}),
            json!({"role": "user", "content": "2"}),
        ];
        assert_eq!(marks(&own), [0]);
    }
}
