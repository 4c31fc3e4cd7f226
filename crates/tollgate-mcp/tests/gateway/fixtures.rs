//! The tools the public conformance suite asks for, as ordinary tools of the core.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Output, Registry,
    outcome::Item,
    tool::{DynTool, PeerRequest, ToolBuilder},
};

/// One red pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound of no length.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

pub(crate) fn registry() -> Registry {
    let (registry, errors) = Registry::new().with_each(tools());
    assert!(errors.is_empty(), "{errors:?}");
    registry
}

fn tools() -> Vec<DynTool> {
    let mut tools = plain();
    tools.extend(asking());
    tools.extend(in_rounds());
    tools
}

fn tool(name: &str, schema: Value) -> ToolBuilder {
    ToolBuilder::new(name, "A tool of the conformance suite.", schema).unwrap().always(Effects::reading())
}

fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

fn plain() -> Vec<DynTool> {
    let says = |name: &str, output: Output| {
        tool(name, nothing()).run(move |_, _| {
            let output = output.clone();
            Box::pin(async move { Ok(output) })
        })
    };
    let resource = |uri: &str, mime: &str, text: &str| Item::Json {
        json: json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}}),
    };
    let embedded = json!({"type": "resource", "resource": {
        "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}});
    let mixed = Output::text("Multiple content types test:")
        .and(Item::Image { mime: "image/png".into(), data: PIXEL.into() })
        .and(resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#));
    let failing = tool("test_error_handling", nothing()).run(|_, _| {
        Box::pin(async { Err(Failure::fatal("This tool intentionally returns an error for testing")) })
    });
    let progress = tool("test_tool_with_progress", nothing()).run(|cx, _| {
        Box::pin(async move {
            for part in [0.0, 0.5, 1.0] {
                cx.progress(part, format!("{part}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(Output::text("done"))
        })
    });
    let logging = |name: &str| {
        tool(name, nothing()).run(|cx, _| {
            Box::pin(async move {
                for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    let peer = cx.peer.as_ref().ok_or_else(no_peer)?;
                    peer.notify("notifications/message", json!({"level": "info", "data": line}));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Ok(Output::text("Tool with logging executed successfully"))
            })
        })
    };
    let schema: Value = serde_json::from_str(include_str!("schema_2020_12.json")).unwrap();
    let headers = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"}, "count": {"type": "integer", "x-mcp-header": "Count"}}});
    vec![
        says("test_simple_text", Output::text("This is a simple text response for testing.")),
        says("test_image_content", Output::image("image/png", PIXEL)),
        says(
            "test_audio_content",
            Output::json(json!({"type": "audio", "data": SOUND, "mimeType": "audio/wav"})),
        ),
        says("test_embedded_resource", Output::json(embedded)),
        says("test_multiple_content_types", mixed),
        failing,
        progress,
        logging("test_tool_with_logging"),
        logging("test_logging_tool"),
        tool("json_schema_2020_12_tool", schema).run(|_, _| Box::pin(async { Ok(Output::text("done")) })),
        tool("test_headers", headers).run(|_, args| {
            let said = args.to_string();
            Box::pin(async move { Ok(Output::text(said)) })
        }),
    ]
}

fn no_peer() -> Failure {
    Failure::fatal("there is no client to speak to")
}

async fn ask(cx: &Cx, key: &str, method: &str, params: Value) -> Result<Value, Failure> {
    let peer = cx.peer.clone().ok_or_else(no_peer)?;
    let request = PeerRequest { method: method.into(), params };
    let mut answers = peer
        .ask([(key.to_owned(), request)].into())
        .await
        .map_err(|fault| Failure::fatal(fault.to_string()))?;
    answers.remove(key).ok_or_else(no_peer)
}

fn sampling(prompt: &str) -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": 100})
}

fn form(message: &str, properties: Value, required: Value) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object", "properties": properties, "required": required}})
}

fn asking() -> Vec<DynTool> {
    let text =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let sample = tool("test_sampling", text("prompt")).run(|cx, args| {
        Box::pin(async move {
            let prompt = args["prompt"].as_str().unwrap_or_default();
            let said = ask(cx, "sample", "sampling/createMessage", sampling(prompt)).await?;
            Ok(Output::text(format!(
                "LLM response: {}",
                said["content"]["text"].as_str().unwrap_or_default()
            )))
        })
    });
    let elicit = tool("test_elicitation", text("message")).run(|cx, args| {
        Box::pin(async move {
            let properties = json!({"username": {"type": "string", "description": "User's response"},
                                    "email": {"type": "string", "description": "User's email address"}});
            let message = args["message"].as_str().unwrap_or_default();
            let said = ask(
                cx,
                "user",
                "elicitation/create",
                form(message, properties, json!(["username", "email"])),
            )
            .await?;
            Ok(Output::text(format!(
                "User response: action: {}, content: {}",
                said["action"], said["content"]
            )))
        })
    });
    let with = |name: &str, properties: Value| {
        tool(name, nothing()).run(move |cx, _| {
            let properties = properties.clone();
            Box::pin(async move {
                let said =
                    ask(cx, "user", "elicitation/create", form("Please fill in", properties, json!([])))
                        .await?;
                Ok(Output::text(format!(
                    "Elicitation completed: action={}, content={}",
                    said["action"].as_str().unwrap_or_default(),
                    said["content"]
                )))
            })
        })
    };
    let defaults = json!({
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true}});
    let titled = |one: &str| {
        json!([{"const": "value1", "title": format!("First {one}")}, {"const": "value2", "title": format!("Second {one}")},
               {"const": "value3", "title": format!("Third {one}")}])
    };
    let enums = json!({
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}});
    vec![
        sample,
        elicit,
        with("test_elicitation_sep1034_defaults", defaults),
        with("test_elicitation_sep1330_enums", enums),
    ]
}

fn name_form(message: &str, key: &str) -> Value {
    form(message, json!({key: {"type": "string"}}), json!([key]))
}

fn in_rounds() -> Vec<DynTool> {
    let one = |name: &str, key: &'static str, method: &'static str, params: Value| {
        tool(name, nothing()).run(move |cx, _| {
            let params = params.clone();
            Box::pin(async move {
                let said = ask(cx, key, method, params).await?;
                if method == "elicitation/create" && said.get("action").is_none() {
                    return Err(Failure::fatal("the answer is no answer to a form"));
                }
                Ok(Output::text(format!("state-ok: {said}")))
            })
        })
    };
    let rounds = tool("test_input_required_result_multi_round", nothing()).run(|cx, _| {
        Box::pin(async move {
            let first =
                ask(cx, "step1", "elicitation/create", name_form("Step 1: What is your name?", "name"))
                    .await?;
            let second = ask(
                cx,
                "step2",
                "elicitation/create",
                name_form("Step 2: What is your favorite color?", "color"),
            )
            .await?;
            Ok(Output::text(format!("{first} {second}")))
        })
    });
    let several = tool("test_input_required_result_multiple_inputs", nothing()).run(|cx, _| {
        Box::pin(async move {
            let request = |method: &str, params: Value| PeerRequest { method: method.into(), params };
            let requests = [
                (
                    "user_name".to_owned(),
                    request("elicitation/create", name_form("What is your name?", "name")),
                ),
                ("greeting".to_owned(), request("sampling/createMessage", sampling("Generate a greeting"))),
                ("client_roots".to_owned(), request("roots/list", json!({}))),
            ];
            let peer = cx.peer.clone().ok_or_else(no_peer)?;
            let said = peer.ask(requests.into()).await.map_err(|fault| Failure::fatal(fault.to_string()))?;
            Ok(Output::text(format!("{said:?}")))
        })
    });
    let able = tool("test_input_required_result_capabilities", nothing()).run(|cx, _| {
        Box::pin(async move {
            let peer = cx.peer.clone().ok_or_else(no_peer)?;
            let wanted = [
                ("elicitation/create", name_form("Name?", "name")),
                ("sampling/createMessage", sampling("Hello")),
            ];
            let requests = wanted.into_iter().filter(|(method, _)| peer.can(method));
            let requests = requests.map(|(method, params)| {
                (method.replace('/', "_"), PeerRequest { method: method.into(), params })
            });
            let said =
                peer.ask(requests.collect()).await.map_err(|fault| Failure::fatal(fault.to_string()))?;
            Ok(Output::text(format!("{said:?}")))
        })
    });
    let confirm = || form("Please confirm", json!({"ok": {"type": "boolean"}}), json!(["ok"]));
    vec![
        one(
            "test_input_required_result_elicitation",
            "user_name",
            "elicitation/create",
            name_form("What is your name?", "name"),
        ),
        one(
            "test_input_required_result_sampling",
            "capital_question",
            "sampling/createMessage",
            sampling("What is the capital of France?"),
        ),
        one("test_input_required_result_list_roots", "client_roots", "roots/list", json!({})),
        one(
            "test_streaming_elicitation",
            "user_name",
            "elicitation/create",
            name_form("What is your name?", "name"),
        ),
        one("test_input_required_result_request_state", "confirm", "elicitation/create", confirm()),
        one("test_input_required_result_tampered_state", "confirm", "elicitation/create", confirm()),
        one("test_missing_capability", "sample", "sampling/createMessage", sampling("Hello")),
        rounds,
        several,
        able,
    ]
}
