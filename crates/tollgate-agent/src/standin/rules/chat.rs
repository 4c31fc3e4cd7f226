//! What chat completions refuse.

use serde_json::Value;

use super::{Judged, is_name, only, openai_tools, refuse, rule, word};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "max_tokens",
    "max_completion_tokens",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "n",
    "stop",
    "seed",
    "user",
    "metadata",
    "store",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "service_tier",
    "prompt_cache_key",
    "safety_identifier",
    "logprobs",
    "top_logprobs",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "verbosity",
];

/// The longest id of a call.
const LONGEST_ID: usize = 40;

pub(super) fn judge(body: &Value) -> Judged {
    only(body, FIELDS, "body")?;
    rule(
        body.get("stream_options").is_none() || body["stream"] == true,
        "stream_options",
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    )?;
    rule(
        body.get("max_tokens").is_none() || body.get("max_completion_tokens").is_none(),
        "two_limits",
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    )?;
    openai_tools::chat(body)?;
    openai_tools::choice(body)?;
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    rule(!messages.is_empty(), "no_messages", "Invalid 'messages': empty array")?;
    conversation(messages)
}

fn conversation(messages: &[Value]) -> Judged {
    let mut open: Vec<&str> = Vec::new();
    let mut answered: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let at = format!("messages[{at}]");
        rule(message.is_object(), "message", format!("Invalid type for '{at}'"))?;
        if word(message, "role") == "tool" {
            let id = result(message, &at)?;
            rule(!answered.contains(&id), "result_twice", format!("'{at}': a second answer to '{id}'"))?;
            let Some(place) = open.iter().position(|open| *open == id) else {
                return refuse(
                    "result_without_call",
                    format!(
                        "'{at}': messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                    ),
                );
            };
            open.remove(place);
            answered.push(id);
            continue;
        }
        unanswered(&open)?;
        answered.clear();
        match word(message, "role") {
            "system" | "developer" => {
                only(message, &["role", "content", "name"], &at)?;
                content(&message["content"], false, &at)?;
            }
            "user" => {
                only(message, &["role", "content", "name"], &at)?;
                content(&message["content"], true, &at)?;
            }
            "assistant" => open = assistant(message, &at)?,
            role => return refuse("role", format!("Invalid value: '{role}' at '{at}.role'")),
        }
    }
    unanswered(&open)
}

fn unanswered(open: &[&str]) -> Judged {
    match open.first() {
        Some(id) => refuse(
            "unpaired",
            format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: {id}"
            ),
        ),
        None => Ok(()),
    }
}

fn result<'a>(message: &'a Value, at: &str) -> Result<&'a str, super::Refused> {
    only(message, &["role", "content", "tool_call_id"], at)?;
    let id = word(message, "tool_call_id");
    rule(!id.is_empty(), "call_id", format!("Missing required parameter: '{at}.tool_call_id'"))?;
    rule(
        !matches!(&message["content"], Value::Null),
        "result_content",
        format!("Invalid value for '{at}.content': expected a string, got null"),
    )?;
    content(&message["content"], false, at)?;
    Ok(id)
}

fn content(content: &Value, pictures: bool, at: &str) -> Judged {
    let parts = match content {
        Value::String(_) => return Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts,
        _ => return refuse("content", format!("Invalid type for '{at}.content'")),
    };
    for part in parts {
        match word(part, "type") {
            "text" => rule(part["text"].is_string(), "content", format!("'{at}.content': text is missing"))?,
            "image_url" | "input_audio" | "file" if pictures => {}
            kind => return refuse("content_kind", format!("Invalid value: '{kind}' at '{at}.content'")),
        }
    }
    Ok(())
}

fn assistant<'a>(message: &'a Value, at: &str) -> Result<Vec<&'a str>, super::Refused> {
    // Compatible servers hand out what a model thought and want it back.
    let thoughts = ["reasoning", "reasoning_content", "reasoning_details"];
    let fields =
        ["role", "content", "tool_calls", "refusal", "name", "audio", thoughts[0], thoughts[1], thoughts[2]];
    only(message, &fields, at)?;
    let mut ids = Vec::new();
    let calls = match message.get("tool_calls") {
        None => {
            let speaks = !message["content"].is_null() || !message["refusal"].is_null();
            rule(speaks, "empty_content", format!("'{at}': neither 'content' nor 'tool_calls'"))?;
            return Ok(ids);
        }
        Some(Value::Array(calls)) if !calls.is_empty() => calls,
        Some(_) => {
            refuse("tool_calls", format!("Invalid '{at}.tool_calls': empty array"))?;
            return Ok(ids);
        }
    };
    for call in calls {
        only(call, &["id", "type", "function", "extra_content"], at)?;
        let id = word(call, "id");
        rule(!id.is_empty(), "call_id", format!("Missing required parameter: '{at}.tool_calls.id'"))?;
        rule(
            id.len() <= LONGEST_ID,
            "call_id_length",
            format!("Invalid '{at}.tool_calls.id': string too long. Expected at most {LONGEST_ID}"),
        )?;
        rule(!ids.contains(&id), "call_id_twice", format!("'{at}': duplicate tool call id '{id}'"))?;
        ids.push(id);
        rule(word(call, "type") == "function", "call_type", format!("Missing '{at}.tool_calls.type'"))?;
        let function = &call["function"];
        only(function, &["name", "arguments"], at)?;
        rule(
            is_name(word(function, "name"), 64),
            "call_name",
            format!("Invalid '{at}.tool_calls.function.name'"),
        )?;
        // Servers that fill a template read them.
        let object =
            serde_json::from_str::<Value>(word(function, "arguments")).is_ok_and(|value| value.is_object());
        rule(
            object,
            "call_input",
            format!("'{at}': the arguments of a call are not a JSON object in a string"),
        )?;
    }
    Ok(ids)
}
