//! What the Messages API refuses in a list of tools.

use serde_json::Value;

use super::{
    Judged, is_name, list, only, refuse, rule,
    schema::{self, Dialect},
    word,
};

const FIELDS: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "defer_loading",
    "allowed_callers",
    "input_examples",
    "eager_input_streaming",
];

pub(super) fn judge(body: &Value) -> Judged {
    let tools = match body.get("tools") {
        None => return Ok(()),
        Some(Value::Array(tools)) => tools,
        Some(_) => return refuse("tools", "tools: Input should be a valid list"),
    };
    let mut names = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let at = format!("tools.{at}");
        rule(tool.is_object(), "tools", format!("{at}: Input should be an object"))?;
        only(tool, FIELDS, &at)?;
        let name = word(tool, "name");
        rule(
            is_name(name, 128),
            "tool_name",
            format!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"),
        )?;
        rule(!names.contains(&name), "tool_twice", "tools: Tool names must be unique.")?;
        names.push(name);
        let deferred = tool["defer_loading"] == true;
        rule(
            !(deferred && tool.get("cache_control").is_some()),
            "deferred_and_marked",
            format!("{at}: Tools with defer_loading cannot use prompt caching"),
        )?;
        match word(tool, "type") {
            "" | "custom" => {
                let description = tool.get("description").is_none_or(Value::is_string);
                rule(description, "tool_description", format!("{at}.description: not a string"))?;
                let at = format!("{at}.input_schema");
                schema::judge(&tool["input_schema"], Dialect::Anthropic, tool["strict"] == true, &at)?;
            }
            // The provider's own: their names are fixed.
            kind if is_search(kind) => {
                let own = kind.rsplit_once('_').map_or(kind, |(own, _)| own);
                rule(name == own, "search_name", format!("{at}.name: Input should be '{own}'"))?;
            }
            kind => return refuse("tool_type", format!("{at}.type: '{kind}' is not known")),
        }
    }
    deferred(list(body, "tools"))
}

fn is_search(kind: &str) -> bool {
    kind.starts_with("tool_search_tool_bm25_") || kind.starts_with("tool_search_tool_regex_")
}

fn deferred(tools: &[Value]) -> Judged {
    let deferred = tools.iter().filter(|tool| tool["defer_loading"] == true).count();
    if deferred == 0 {
        return Ok(());
    }
    let search = tools.iter().any(|tool| is_search(word(tool, "type")));
    rule(search, "deferred_without_search", "tools: defer_loading needs a tool search tool")?;
    rule(deferred < tools.len(), "all_deferred", "tools: at least one tool must have defer_loading=false")
}
