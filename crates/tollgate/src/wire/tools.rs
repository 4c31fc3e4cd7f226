//! The list of tools as a provider wants it: the same tools give the same bytes.

use serde::{Serialize, Serializer, ser::SerializeSeq as _};
use serde_json::{Value, json};

use super::Provider;

/// A tool as a model gets to see it: its wire name and the schema projected for the provider.
#[derive(Debug, Clone, PartialEq)]
pub struct WireTool {
    /// The name on the wire.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
    /// Whether the provider shall hold the model to the schema.
    pub strict: bool,
    /// Whether it stays out of the prompt until it is searched for.
    pub defer: bool,
}

/// Whether the end of the list is marked for the prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheMark {
    /// No mark.
    #[default]
    None,
    /// Anthropic's `cache_control` on the last tool that is in the prompt. Other providers cache unasked.
    Last,
}

/// The list as a value. Where a tool is deferred, the provider's own tool search comes first.
///
/// Chat completions have no deferred tools: there they are left out, and finding them is up to the caller.
pub fn tools_array(provider: Provider, tools: &[WireTool], mark: CacheMark) -> Value {
    serde_json::to_value(Listed::new(provider, tools, mark)).unwrap_or_default()
}

/// The list as text, written without copying the schemas.
pub fn tools_json(provider: Provider, tools: &[WireTool], mark: CacheMark) -> String {
    serde_json::to_string(&Listed::new(provider, tools, mark)).unwrap_or_default()
}

struct Listed<'a> {
    provider: Provider,
    tools: &'a [WireTool],
    search: Option<Value>,
    /// The tool that bears the cache mark; deferred ones are not in the prompt and must not.
    marked: Option<usize>,
}

impl<'a> Listed<'a> {
    fn new(provider: Provider, tools: &'a [WireTool], mark: CacheMark) -> Self {
        let marks = mark == CacheMark::Last && provider == Provider::Anthropic;
        let marked = tools.iter().rposition(|tool| !tool.defer).filter(|_| marks);
        let mut search = match provider {
            Provider::Anthropic => {
                Some(json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}))
            }
            Provider::OpenAiResponses => Some(json!({"type": "tool_search"})),
            Provider::OpenAiChat => None,
        };
        search = search.filter(|_| tools.iter().any(|tool| tool.defer));
        if let Some(search) = search.as_mut().filter(|_| marks && marked.is_none()) {
            search["cache_control"] = json!(Ephemeral {});
        }
        Self { provider, tools, search, marked }
    }
}

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(search) = &self.search {
            list.serialize_element(search)?;
        }
        for (at, tool) in self.tools.iter().enumerate() {
            match self.provider {
                Provider::Anthropic => {
                    list.serialize_element(&Anthropic::of(tool, self.marked == Some(at)))?;
                }
                Provider::OpenAiResponses => list.serialize_element(&Responses::of(tool))?,
                Provider::OpenAiChat if tool.defer => {}
                Provider::OpenAiChat => list.serialize_element(&Chat::of(tool))?,
            }
        }
        list.end()
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
struct Ephemeral {}

#[derive(Serialize)]
struct Anthropic<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "is_false")]
    strict: bool,
    #[serde(skip_serializing_if = "is_false")]
    defer_loading: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Ephemeral>,
}

impl<'a> Anthropic<'a> {
    fn of(tool: &'a WireTool, marked: bool) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.schema,
            strict: tool.strict,
            defer_loading: tool.defer,
            cache_control: marked.then_some(Ephemeral {}),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Responses<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    // Left out, it would mean true.
    strict: bool,
    #[serde(skip_serializing_if = "is_false")]
    defer_loading: bool,
}

impl<'a> Responses<'a> {
    fn of(tool: &'a WireTool) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.schema,
            strict: tool.strict,
            defer_loading: tool.defer,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Chat<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    // Left out unless asked for: not every compatible server knows it.
    #[serde(skip_serializing_if = "is_false")]
    strict: bool,
}

impl<'a> Chat<'a> {
    fn of(tool: &'a WireTool) -> Self {
        let function = Function {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.schema,
            strict: tool.strict,
        };
        Self { function }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
fn is_false(value: &bool) -> bool {
    !value
}
