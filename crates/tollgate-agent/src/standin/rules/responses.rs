//! What the Responses API refuses.

use serde_json::Value;

use super::{Judged, Refused, is_name, list, only, openai_tools, refuse, rule, word};

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "max_output_tokens",
    "stream",
    "store",
    "include",
    "prompt_cache_key",
    "prompt_cache_retention",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "reasoning",
    "text",
    "metadata",
    "previous_response_id",
    "truncation",
    "user",
    "service_tier",
    "background",
    "conversation",
    "safety_identifier",
    "stream_options",
    "max_tool_calls",
    "prompt",
    "top_logprobs",
];

pub(super) fn judge(body: &Value) -> Judged {
    only(body, FIELDS, "body")?;
    let limit = body.get("max_output_tokens");
    rule(
        limit.is_none_or(|limit| limit.as_u64().is_some_and(|limit| limit >= 16)),
        "max_output_tokens",
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16",
    )?;
    let key = word(body, "prompt_cache_key");
    rule(key.len() <= 64, "cache_key", "Invalid 'prompt_cache_key': string too long")?;
    openai_tools::responses(body)?;
    openai_tools::choice(body)?;
    match &body["input"] {
        Value::String(text) => rule(!text.is_empty(), "no_messages", "Missing required parameter: 'input'"),
        Value::Array(items) if !items.is_empty() => input(items, body["store"] != false),
        _ => refuse("no_messages", "Missing required parameter: 'input'"),
    }
}

fn input(items: &[Value], stored: bool) -> Judged {
    let mut calls: Vec<(&str, &str)> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let at_name = format!("input[{at}]");
        rule(item.is_object(), "item", format!("Invalid type for '{at_name}': expected an object"))?;
        match word(item, "type") {
            "" | "message" => {
                message(item, &at_name)?;
                if word(item, "role") != "assistant"
                    && let Some(id) = open.first()
                {
                    return refuse("unpaired", format!("No tool output found for function call {id}."));
                }
            }
            kind @ ("function_call" | "custom_tool_call") => {
                call(item, kind, &at_name)?;
                let id = word(item, "call_id");
                let twice = calls.iter().any(|(known, _)| *known == id);
                rule(!twice, "call_id_twice", format!("Duplicate function call with call_id {id}"))?;
                calls.push((id, kind));
                open.push(id);
            }
            kind @ ("function_call_output" | "custom_tool_call_output") => {
                output(item, &at_name)?;
                let id = word(item, "call_id");
                let asked = calls
                    .iter()
                    .any(|(known, asked)| *known == id && kind.strip_suffix("_output") == Some(asked));
                rule(
                    asked,
                    "result_without_call",
                    format!("No tool call found for function call output with call_id {id}."),
                )?;
                let Some(place) = open.iter().position(|open| *open == id) else {
                    return refuse("result_twice", format!("Duplicate output for call_id {id}"));
                };
                open.remove(place);
            }
            "reasoning" => reasoning(item, items.get(at + 1), stored, &at_name)?,
            "tool_search_call" | "tool_search_output" | "item_reference" | "compaction" => {}
            kind => return refuse("item", format!("Invalid value: '{kind}' at '{at_name}.type'")),
        }
    }
    match open.first() {
        Some(id) => refuse("unpaired", format!("No tool output found for function call {id}.")),
        None => Ok(()),
    }
}

fn message(item: &Value, at: &str) -> Judged {
    only(item, &["type", "role", "content", "id", "status", "phase"], at)?;
    let role = word(item, "role");
    let known = matches!(role, "user" | "assistant" | "system" | "developer");
    rule(known, "role", format!("Invalid value: '{role}' at '{at}.role'"))?;
    let parts = match &item["content"] {
        Value::String(_) => return Ok(()),
        Value::Array(parts) => parts,
        _ => return refuse("content", format!("Missing required parameter: '{at}.content'")),
    };
    for part in parts {
        let kind = word(part, "type");
        let fits = match role {
            "assistant" => matches!(kind, "output_text" | "refusal"),
            _ => matches!(kind, "input_text" | "input_image" | "input_file"),
        };
        rule(fits, "content", format!("Invalid value: '{kind}' at '{at}.content'"))?;
        if kind == "input_image" {
            image(part, at)?;
        }
    }
    Ok(())
}

fn call(item: &Value, kind: &str, at: &str) -> Judged {
    let arguments = if kind == "function_call" { "arguments" } else { "input" };
    only(item, &["type", "id", "call_id", "name", arguments, "status", "namespace"], at)?;
    call_id(item, at)?;
    let name = word(item, "name");
    rule(is_name(name, 128), "call_name", format!("Invalid '{at}.name': string does not match pattern"))?;
    rule(
        item[arguments].is_string(),
        "call_input",
        format!("Invalid type for '{at}.{arguments}': expected a string"),
    )?;
    let id = word(item, "id");
    let prefix = if kind == "function_call" { "fc" } else { "ctc" };
    rule(
        id.is_empty() || id.starts_with(prefix),
        "item_id",
        format!("Invalid '{at}.id': '{id}'. Expected an ID that begins with '{prefix}'."),
    )
}

fn output(item: &Value, at: &str) -> Judged {
    only(item, &["type", "id", "call_id", "output", "status"], at)?;
    call_id(item, at)?;
    match &item["output"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => {
            parts.iter().try_for_each(|part| match word(part, "type") {
                "input_text" | "input_file" => Ok(()),
                "input_image" => image(part, at),
                kind => refuse("result_content", format!("Invalid value: '{kind}' at '{at}.output'")),
            })
        }
        _ => refuse("result_content", format!("Missing required parameter: '{at}.output'")),
    }
}

fn call_id(item: &Value, at: &str) -> Judged {
    let id = word(item, "call_id");
    rule(!id.is_empty(), "call_id", format!("Missing required parameter: '{at}.call_id'"))?;
    rule(
        id.len() <= 64,
        "call_id_length",
        format!("Invalid '{at}.call_id': string too long. Expected a string with maximum length 64"),
    )
}

fn reasoning(item: &Value, next: Option<&Value>, stored: bool, at: &str) -> Judged {
    only(item, &["type", "id", "summary", "content", "encrypted_content", "status"], at)?;
    rule(
        item["summary"].is_array(),
        "reasoning_summary",
        format!("Missing required parameter: '{at}.summary'"),
    )?;
    let id = word(item, "id");
    // Not kept there and not brought along: nobody has it.
    if !stored && word(item, "encrypted_content").is_empty() {
        return Err(Refused::new(404, "reasoning_lost", format!("Item with id '{id}' not found.")));
    }
    let follows = next.is_some_and(|next| match word(next, "type") {
        "" | "message" => word(next, "role") == "assistant",
        "function_call" | "custom_tool_call" | "reasoning" | "tool_search_call" => true,
        _ => false,
    });
    rule(
        follows,
        "reasoning_alone",
        format!("Item '{id}' of type 'reasoning' was provided without its required following item."),
    )
}

fn image(part: &Value, at: &str) -> Judged {
    let url = word(part, "image_url");
    let fits = url.starts_with("https://") || url.starts_with("data:image/");
    rule(fits || !list(part, "file_id").is_empty(), "image", format!("Invalid '{at}.image_url'"))
}
