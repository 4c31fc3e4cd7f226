//! Many tools behind three: search, describe, call. The inner tool is what policy, approvals, budgets and records see.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tollgate::{catalog::Snapshot, tool::Route};

use super::{list::told, message::RpcError};

pub(crate) const SEARCH: &str = "tool_search";
pub(crate) const DESCRIBE: &str = "tool_describe";
pub(crate) const CALL: &str = "tool_call";

/// The most tools a search gives.
const MOST: usize = 20;

/// The three tools, as `tools/list` has them.
pub(crate) fn tools() -> Vec<Value> {
    let looks = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    let worst = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true});
    vec![
        json!({
            "name": SEARCH,
            "description": "Finds tools by name or by what they do. There are more tools than are listed: search first, \
                            then `tool_describe` one and `tool_call` it.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "A tool's name, or words for what it should do."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "How many tools at most; 5 when left out."},
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "annotations": looks,
        }),
        json!({
            "name": DESCRIBE,
            "description": "Says what a tool does and which arguments it takes.",
            "inputSchema": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": "The tool's exact name, as `tool_search` gives it."}},
                "required": ["name"],
                "additionalProperties": false,
            },
            "annotations": looks,
        }),
        json!({
            "name": CALL,
            "description": "Calls a tool by its exact name. The call is judged and recorded as one of that tool.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The tool's exact name."},
                    "arguments": {"type": "object", "description": "Its arguments, as `tool_describe` says."},
                },
                "required": ["name"],
                "additionalProperties": false,
            },
            "annotations": worst,
        }),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Describe {
    name: String,
}

/// A call of another tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inner<'a> {
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

/// What a search or a description answers. Only what the route discloses is found.
pub(crate) fn look(
    name: &str,
    arguments: Option<&RawValue>,
    snapshot: &Snapshot,
    route: Option<&Route>,
) -> Result<Value, String> {
    if name == SEARCH {
        let Search { query, limit } = parse(SEARCH, arguments)?;
        let found = snapshot.search(&query, limit.unwrap_or(5).clamp(1, MOST), route);
        let tools: Vec<Value> = found
            .iter()
            .map(|(label, spec)| json!({"name": &***label, "description": first_lines(&spec.description)}))
            .collect();
        return Ok(json!({ "tools": tools }));
    }
    let Describe { name } = parse(DESCRIBE, arguments)?;
    let found = snapshot.reachable(route).find(|(label, _)| ***label == *name);
    let (label, spec) =
        found.ok_or_else(|| format!("There is no tool {name:?}. Find its exact name with `tool_search`."))?;
    Ok(told(label, spec))
}

/// The inner call of a `tool_call`.
pub(crate) fn unwrap(arguments: Option<&RawValue>) -> Result<Inner<'_>, String> {
    parse(CALL, arguments)
}

fn parse<'a, T: Deserialize<'a>>(tool: &str, arguments: Option<&'a RawValue>) -> Result<T, String> {
    let text = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(text)
        .map_err(|error| format!("The arguments of `{tool}` are not as they should be: {error}."))
}

/// A search tells enough to choose by; `tool_describe` tells the rest.
fn first_lines(description: &str) -> String {
    const ENOUGH: usize = 300;
    let mut text: String = description.chars().take(ENOUGH).collect();
    if text.len() < description.len() {
        text.push('…');
    }
    text
}

/// The protocol's error for a name that is none of ours.
pub(crate) fn unknown(reason: &str, hint: Option<&str>) -> RpcError {
    let hint = hint.map(|hint| format!(" {hint}")).unwrap_or_default();
    RpcError::invalid_params(format!("{reason}{hint}"))
}
