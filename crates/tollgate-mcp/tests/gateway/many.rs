//! More tools than a model should read: three that find, describe and call the others.

use serde_json::{Value, json};
use tollgate::{Effects, Output, Registry, policy::Rules, tool::ToolBuilder};
use tollgate_mcp::gateway::{Asking, Settings};

use crate::world::{Ran, World, call, request, text};

fn hundred(ran: &Ran) -> Registry {
    let tools = (0..100).map(|number| {
        let ran = ran.clone();
        let name = format!("weather_{number}");
        let schema =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let described = format!("Tells the weather of region {number}.");
        ToolBuilder::new(&name, described, schema).unwrap().always(Effects::reading()).run(move |_, args| {
            ran.lock().unwrap().push(format!("{name} {}", args["city"].as_str().unwrap_or_default()));
            Box::pin(async { Ok(Output::text("sunny")) })
        })
    });
    Registry::new().with_each(tools).0
}

fn world() -> World {
    let rules =
        Rules::new().allow("weather_*").and_then(|rules| rules.deny("weather_7(city=Paris)")).unwrap();
    World::with(hundred, rules, Asking::new(), Settings::default())
}

#[test]
fn many_tools_are_searched_described_and_called_and_rules_see_the_inner_one() {
    let world = world();
    let mut events = world.gateway.gate().observe(100);
    let mut client = world.pipe();
    client.begin(json!({}));
    let list = client.ask(&request(1, "tools/list", json!({})));
    let names: Vec<&Value> =
        list["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["tool_search", "tool_describe", "tool_call"]);

    let found = client.ask(&call(2, "tool_search", json!({"query": "weather region 42", "limit": 3})));
    let found = found["result"]["structuredContent"]["tools"].clone();
    assert_eq!(found[0]["name"], "weather_42", "{found}");
    let described = client.ask(&call(3, "tool_describe", json!({"name": "weather_42"})));
    assert_eq!(described["result"]["structuredContent"]["inputSchema"]["required"], json!(["city"]));

    let through =
        |name: &str, arguments: Value| call(4, "tool_call", json!({"name": name, "arguments": arguments}));
    assert_eq!(text(&client.ask(&through("weather_42", json!({"city": "Rome"})))), "sunny");
    let refused = client.ask(&through("weather_7", json!({"city": "Paris"})));
    assert!(text(&refused).starts_with("refused (denied)"), "{refused}");
    assert!(text(&client.ask(&through("weather_42", json!({"town": "Rome"})))).contains("invalid_arguments"));
    assert_eq!(client.ask(&through("tool_call", json!({})))["error"]["code"], -32602);
    // By its own name it goes as well.
    assert_eq!(text(&client.ask(&call(5, "weather_1", json!({"city": "Oslo"})))), "sunny");
    assert_eq!(world.ran(), ["weather_42 Rome", "weather_1 Oslo"]);

    let mut told = Vec::new();
    events.drain(|event| told.extend(event.tool.map(str::to_owned)));
    told.dedup();
    assert_eq!(told, ["weather_42", "weather_7", "weather_42", "tool_call", "weather_1"]);
}

#[test]
fn the_three_tools_say_what_is_wrong_with_their_own_arguments() {
    let world = world();
    let mut client = world.pipe();
    client.begin(json!({}));
    for (tool, arguments) in [
        ("tool_search", json!({})),
        ("tool_search", json!({"query": 5})),
        ("tool_describe", json!({"name": "nothing"})),
        ("tool_describe", json!({"name": "weather_1", "more": 1})),
        ("tool_call", json!({"arguments": {}})),
        ("tool_call", json!({"name": "weather_1", "args": {"city": "Rome"}})),
    ] {
        let answer = client.ask(&call(1, tool, arguments.clone()));
        assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
    }
    assert!(world.ran().is_empty());
}
