use serde_json::json;

use super::{CacheMark, Provider, WireTool, tools_array, tools_json};

fn tool(name: &str) -> WireTool {
    WireTool {
        name: name.to_owned(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"z": {}, "a": {}}}),
        strict: false,
        defer: false,
    }
}

#[test]
fn each_provider_gets_its_own_shape() {
    let tools = [tool("read"), WireTool { strict: true, ..tool("write") }];
    let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
    let cases = [
        (
            Provider::Anthropic,
            json!([
                {"name": "read", "description": "Does read.", "input_schema": schema},
                {"name": "write", "description": "Does write.", "input_schema": schema, "strict": true},
            ]),
        ),
        (
            Provider::OpenAiResponses,
            json!([
                {"type": "function", "name": "read", "description": "Does read.", "parameters": schema, "strict": false},
                {"type": "function", "name": "write", "description": "Does write.", "parameters": schema, "strict": true},
            ]),
        ),
        (
            Provider::OpenAiChat,
            json!([
                {"type": "function", "function": {"name": "read", "description": "Does read.", "parameters": schema}},
                {"type": "function", "function":
                    {"name": "write", "description": "Does write.", "parameters": schema, "strict": true}},
            ]),
        ),
    ];
    for (provider, expected) in cases {
        assert_eq!(tools_array(provider, &tools, CacheMark::None), expected);
        // Byte for byte: keys keep their order, of the schema too.
        assert_eq!(tools_json(provider, &tools, CacheMark::None), expected.to_string());
    }
}

#[test]
fn deferred_tools_come_with_the_search_that_finds_them_or_not_at_all() {
    let tools = [tool("read"), WireTool { defer: true, ..tool("rare") }];
    let anthropic = tools_array(Provider::Anthropic, &tools, CacheMark::Last);
    assert_eq!(
        anthropic[0],
        json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"})
    );
    assert_eq!(anthropic[2]["defer_loading"], json!(true));
    let responses = tools_array(Provider::OpenAiResponses, &tools, CacheMark::Last);
    assert_eq!(responses[0], json!({"type": "tool_search"}));
    assert_eq!(responses[2]["defer_loading"], json!(true));
    let chat = tools_array(Provider::OpenAiChat, &tools, CacheMark::Last);
    assert_eq!(chat.as_array().unwrap().len(), 1);
}

#[test]
fn the_cache_mark_is_on_the_last_tool_that_is_in_the_prompt() {
    let mark = json!({"type": "ephemeral"});
    let deferred = |name| WireTool { defer: true, ..tool(name) };
    let marked = |tools: &[WireTool], provider| -> Vec<usize> {
        let list = tools_array(provider, tools, CacheMark::Last);
        let marks = list.as_array().unwrap().iter().map(|tool| tool.get("cache_control") == Some(&mark));
        marks.enumerate().filter(|(_, marked)| *marked).map(|(at, _)| at).collect()
    };
    assert_eq!(marked(&[tool("a"), tool("b")], Provider::Anthropic), [1]);
    // Behind the search, which stands first.
    assert_eq!(marked(&[tool("a"), deferred("b")], Provider::Anthropic), [1]);
    assert_eq!(marked(&[deferred("a"), deferred("b")], Provider::Anthropic), [0]);
    assert_eq!(marked(&[], Provider::Anthropic), [0_usize; 0]);
    assert_eq!(marked(&[tool("a")], Provider::OpenAiResponses), [0_usize; 0]);
    assert_eq!(marked(&[tool("a")], Provider::OpenAiChat), [0_usize; 0]);
}
