//! What both of `OpenAI`'s APIs refuse in a list of tools.

use serde_json::Value;

use super::{
    Judged, is_name, only, refuse, rule,
    schema::{self, Dialect},
    word,
};

/// Judges the tools of Responses.
pub(super) fn responses(body: &Value) -> Judged {
    let mut names = Vec::new();
    let tools = tools(body)?;
    for (at, tool) in tools.iter().enumerate() {
        let at = format!("tools[{at}]");
        match word(tool, "type") {
            "function" => {
                let fields = ["type", "name", "description", "parameters", "strict", "defer_loading"];
                only(tool, &fields, &at)?;
                // Left out, it means true.
                function(tool, 128, tool["strict"] != false, &mut names, &at)?;
            }
            "tool_search" => {
                only(tool, &["type", "execution", "description", "parameters"], &at)?;
            }
            "namespace" => {}
            kind => return refuse("tool_type", format!("Invalid value: '{kind}' at {at}.type")),
        }
    }
    let deferred = tools.iter().any(|tool| tool["defer_loading"] == true);
    let search = tools.iter().any(|tool| word(tool, "type") == "tool_search");
    rule(!deferred || search, "deferred_without_search", "defer_loading needs the tool_search tool")
}

/// Judges the tools of chat completions.
pub(super) fn chat(body: &Value) -> Judged {
    let mut names = Vec::new();
    for (at, tool) in tools(body)?.iter().enumerate() {
        let at = format!("tools[{at}]");
        only(tool, &["type", "function"], &at)?;
        rule(word(tool, "type") == "function", "tool_type", format!("Invalid value at {at}.type"))?;
        let function = &tool["function"];
        only(function, &["name", "description", "parameters", "strict"], &at)?;
        self::function(function, 64, function["strict"] == true, &mut names, &at)?;
    }
    Ok(())
}

fn tools(body: &Value) -> Result<&[Value], super::Refused> {
    match body.get("tools") {
        None => Ok(&[]),
        Some(Value::Array(tools)) if !tools.is_empty() => Ok(tools),
        Some(_) => {
            refuse("tools", "Invalid 'tools': empty array. Expected an array with minimum length 1")?;
            Ok(&[])
        }
    }
}

fn function<'a>(
    function: &'a Value,
    longest: usize,
    strict: bool,
    names: &mut Vec<&'a str>,
    at: &str,
) -> Judged {
    let name = word(function, "name");
    rule(
        is_name(name, longest),
        "tool_name",
        format!("Invalid '{at}.name': string does not match pattern '^[a-zA-Z0-9_-]+$' of at most {longest}"),
    )?;
    rule(!names.contains(&name), "tool_twice", format!("Invalid '{at}.name': tool names must be unique"))?;
    names.push(name);
    let description = function.get("description").is_none_or(Value::is_string);
    rule(description, "tool_description", format!("Invalid '{at}.description'"))?;
    schema::judge(&function["parameters"], Dialect::OpenAi, strict, &format!("{at}.parameters"))
}

/// Judges what the model is told about using tools.
pub(super) fn choice(body: &Value) -> Judged {
    let tools = body.get("tools").is_some();
    if let Some(choice) = body.get("tool_choice") {
        rule(tools, "choice_without_tools", "'tool_choice' is only allowed when 'tools' are specified")?;
        let known = choice.is_object() || matches!(choice.as_str(), Some("auto" | "none" | "required"));
        rule(known, "tool_choice", "Invalid value for 'tool_choice'")?;
    }
    rule(
        tools || body.get("parallel_tool_calls").is_none(),
        "parallel_without_tools",
        "'parallel_tool_calls' is only allowed when 'tools' are specified",
    )
}
