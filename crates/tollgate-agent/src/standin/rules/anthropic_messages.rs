//! What the Messages API refuses in a conversation.

use serde_json::Value;

use super::{Judged, is_name, list, only, refuse, rule, word};

/// Judges the messages; `tools` says whether any are offered.
pub(super) fn judge(messages: &[Value], tools: bool) -> Judged {
    rule(!messages.is_empty(), "no_messages", "messages: at least one message is required")?;
    let mut ids: Vec<&str> = Vec::new();
    // The ids of the turn before, each to be answered in this message.
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let at = format!("messages.{at}");
        only(message, &["role", "content"], &at)?;
        let role = word(message, "role");
        rule(matches!(role, "user" | "assistant"), "role", format!("{at}.role: not user or assistant"))?;
        rule(
            before != role,
            "roles_alternate",
            format!("{at}: roles must alternate, but found multiple {role} roles in a row"),
        )?;
        rule(
            !(before.is_empty() && role != "user"),
            "first_user",
            "messages: first message must use the user role",
        )?;
        before = role;
        let blocks = content(message, &at)?;
        if role == "user" {
            user(blocks, &std::mem::take(&mut open), &at)?;
        } else {
            open = assistant(blocks, &mut ids, &at)?;
        }
    }
    if let Some(id) = open.first() {
        return refuse("unpaired", format!("`tool_use` ids were found without `tool_result` blocks: {id}"));
    }
    rule(
        tools || ids.is_empty(),
        "calls_without_tools",
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    )?;
    last(messages)
}

fn content<'a>(message: &'a Value, at: &str) -> Result<&'a [Value], super::Refused> {
    match &message["content"] {
        Value::String(text) => {
            rule(!text.trim().is_empty(), "empty_content", format!("{at}: content must be non-empty"))?;
            Ok(&[])
        }
        Value::Array(blocks) => {
            rule(!blocks.is_empty(), "empty_content", format!("{at}: content must be non-empty"))?;
            blocks.iter().try_for_each(|block| text(block, at))?;
            Ok(blocks)
        }
        _ => {
            refuse("content", format!("{at}.content: Input should be a valid string or list"))?;
            Ok(&[])
        }
    }
}

fn text(block: &Value, at: &str) -> Judged {
    if word(block, "type") != "text" {
        return Ok(());
    }
    only(block, &["type", "text", "cache_control", "citations"], at)?;
    let text = word(block, "text");
    rule(!text.trim().is_empty(), "empty_text", format!("{at}: text content blocks must be non-empty"))
}

fn assistant<'a>(
    blocks: &'a [Value],
    ids: &mut Vec<&'a str>,
    at: &str,
) -> Result<Vec<&'a str>, super::Refused> {
    let mut open = Vec::new();
    for block in blocks {
        match word(block, "type") {
            "text" => rule(open.is_empty(), "text_after_call", format!("{at}: text after tool_use"))?,
            "thinking" => {
                only(block, &["type", "thinking", "signature"], at)?;
                let signed = !word(block, "signature").is_empty();
                rule(signed, "unsigned_thinking", format!("{at}: thinking.signature: Field required"))?;
                rule(open.is_empty(), "thinking_after_call", format!("{at}: thinking after tool_use"))?;
            }
            "redacted_thinking" => only(block, &["type", "data"], at)?,
            "server_tool_use" => {
                only(block, &["type", "id", "name", "input", "cache_control", "caller"], at)?;
            }
            "tool_use" => {
                only(block, &["type", "id", "name", "input", "cache_control", "caller"], at)?;
                let id = word(block, "id");
                rule(
                    is_name(id, 256),
                    "call_id",
                    format!("{at}: tool_use.id: should match '^[a-zA-Z0-9_-]+$'"),
                )?;
                rule(!ids.contains(&id), "call_id_twice", format!("{at}: `tool_use` ids must be unique"))?;
                rule(
                    is_name(word(block, "name"), 128),
                    "call_name",
                    format!("{at}: tool_use.name is not a name"),
                )?;
                rule(
                    block["input"].is_object(),
                    "call_input",
                    format!("{at}: tool_use.input: not an object"),
                )?;
                ids.push(id);
                open.push(id);
            }
            kind if kind.ends_with("_tool_result") => {}
            kind => refuse("block", format!("{at}: '{kind}' does not belong in an assistant message"))?,
        }
    }
    Ok(open)
}

fn user(blocks: &[Value], open: &[&str], at: &str) -> Judged {
    let mut given: Vec<&str> = Vec::new();
    let mut others = false;
    for block in blocks {
        match word(block, "type") {
            "tool_result" => {
                rule(!others, "result_not_first", format!("{at}: tool_result blocks must come first"))?;
                let id = word(block, "tool_use_id");
                rule(
                    open.contains(&id),
                    "result_without_call",
                    format!("{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"),
                )?;
                rule(
                    !given.contains(&id),
                    "result_twice",
                    format!("{at}: each tool_use must have a single result: {id}"),
                )?;
                given.push(id);
                result(block, at)?;
                continue;
            }
            "text" | "document" | "search_result" => {}
            "image" => image(block, at)?,
            kind => refuse("block", format!("{at}: '{kind}' does not belong in a user message"))?,
        }
        others = true;
    }
    match open.iter().find(|id| !given.contains(id)) {
        Some(id) => refuse(
            "unpaired",
            format!("{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}"),
        ),
        None => Ok(()),
    }
}

fn result(block: &Value, at: &str) -> Judged {
    only(block, &["type", "tool_use_id", "content", "is_error", "cache_control"], at)?;
    let is_error = match block.get("is_error") {
        None => false,
        Some(Value::Bool(is_error)) => *is_error,
        Some(_) => return refuse("is_error", format!("{at}: tool_result.is_error: not a boolean")),
    };
    match block.get("content") {
        None => {
            rule(!is_error, "empty_error", format!("{at}: content cannot be empty if `is_error` is true"))
        }
        Some(Value::String(text)) => rule(
            !is_error || !text.trim().is_empty(),
            "empty_error",
            format!("{at}: content cannot be empty if `is_error` is true"),
        ),
        Some(Value::Array(parts)) => {
            rule(!is_error || !parts.is_empty(), "empty_error", format!("{at}: content cannot be empty"))?;
            for part in parts {
                text(part, at)?;
                match word(part, "type") {
                    "text" => {}
                    kind if is_error => {
                        refuse(
                            "error_not_text",
                            format!("{at}: all content must be text if is_error: {kind}"),
                        )?;
                    }
                    "image" => image(part, at)?,
                    "document" | "search_result" | "tool_reference" => {}
                    kind => refuse("block", format!("{at}: '{kind}' does not belong in a tool_result"))?,
                }
            }
            Ok(())
        }
        Some(_) => refuse("result_content", format!("{at}: tool_result.content: not a string or list")),
    }
}

fn image(block: &Value, at: &str) -> Judged {
    let source = &block["source"];
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&word(source, "media_type"));
    let fits = match word(source, "type") {
        "base64" => known && !word(source, "data").is_empty(),
        "url" => !word(source, "url").is_empty(),
        _ => false,
    };
    rule(fits, "image", format!("{at}: image.source is not one"))
}

/// A conversation ends with the user, unless a paused turn is to go on.
fn last(messages: &[Value]) -> Judged {
    let Some(message) = messages.last().filter(|message| word(message, "role") == "assistant") else {
        return Ok(());
    };
    let paused = list(message, "content").last().is_some_and(|block| {
        let kind = word(block, "type");
        kind == "server_tool_use" || kind.ends_with("_tool_result")
    });
    rule(paused, "prefill", "This model does not support assistant message prefill.")
}
