//! What the Messages API refuses around the conversation.

use serde_json::Value;

use super::{Judged, anthropic_messages, anthropic_tools, list, only, refuse, rule, word};

const FIELDS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "stop_sequences",
    "temperature",
    "top_p",
    "top_k",
    "metadata",
    "thinking",
    "service_tier",
    "container",
    "mcp_servers",
    "context_management",
    "output_config",
];

pub(super) fn judge(body: &Value) -> Judged {
    only(body, FIELDS, "body")?;
    let limit = body["max_tokens"].as_u64();
    rule(limit.is_some_and(|limit| limit > 0), "max_tokens", "max_tokens: Field required")?;
    system(&body["system"])?;
    anthropic_tools::judge(body)?;
    choice(body)?;
    marks(body)?;
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    anthropic_messages::judge(messages, !list(body, "tools").is_empty())
}

fn system(system: &Value) -> Judged {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) => blocks.iter().try_for_each(|block| {
            only(block, &["type", "text", "cache_control", "citations"], "system")?;
            rule(word(block, "type") == "text", "system", "system: only text blocks are allowed")?;
            let text = word(block, "text");
            rule(!text.trim().is_empty(), "empty_text", "system: text content blocks must be non-empty")
        }),
        _ => refuse("system", "system: Input should be a valid string or list"),
    }
}

fn choice(body: &Value) -> Judged {
    let Some(choice) = body.get("tool_choice") else { return Ok(()) };
    rule(
        !list(body, "tools").is_empty(),
        "choice_without_tools",
        "tool_choice: may only be specified with tools",
    )?;
    let known = matches!(word(choice, "type"), "auto" | "any" | "tool" | "none");
    rule(known, "tool_choice", "tool_choice: Input does not match any of the expected tags")?;
    only(choice, &["type", "name", "disable_parallel_tool_use"], "tool_choice")
}

/// At most four marks, each where one may be.
fn marks(body: &Value) -> Judged {
    let mut count = 0;
    let mut look = |block: &Value, at: &str| {
        let Some(mark) = block.get("cache_control").filter(|mark| !mark.is_null()) else { return Ok(()) };
        count += 1;
        only(mark, &["type", "ttl"], at)?;
        rule(word(mark, "type") == "ephemeral", "cache_mark", format!("{at}.cache_control: unknown type"))?;
        let kind = word(block, "type");
        rule(
            !matches!(kind, "thinking" | "redacted_thinking"),
            "cache_mark_on_thinking",
            format!("{at}.cache_control: cannot be set for thinking blocks"),
        )
    };
    list(body, "tools").iter().try_for_each(|tool| look(tool, "tools"))?;
    list(body, "system").iter().try_for_each(|block| look(block, "system"))?;
    for message in list(body, "messages") {
        list(message, "content").iter().try_for_each(|block| look(block, "messages"))?;
    }
    rule(
        count <= 4,
        "cache_marks",
        format!("A maximum of 4 blocks with cache_control may be provided. Found {count}."),
    )
}
