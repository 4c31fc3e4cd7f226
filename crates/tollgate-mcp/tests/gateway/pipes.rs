//! Over pipes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{World, call, request, stateless, text};

#[test]
fn a_session_lists_the_tools_and_calls_them() {
    let world = World::new();
    let mut client = world.pipe();
    let hello = client.begin(json!({}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["capabilities"]["tools"], json!({"listChanged": true}));

    let list = client.ask(&request(1, "tools/list", json!({})));
    let tools = list["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["add", "change", "destroy", "echo", "long", "waits"]);
    let hints = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"].clone();
    assert_eq!(
        hints("echo"),
        json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!(hints("destroy")["destructiveHint"], true);
    assert!(list["result"].get("ttlMs").is_none());

    assert_eq!(text(&client.ask(&call(2, "echo", json!({"text": "hello"})))), "said: hello");
    let sum = client.ask(&call(3, "add", json!({"a": 2, "b": 3})));
    assert_eq!(sum["result"]["structuredContent"], json!({"sum": 5}));
    assert_eq!(client.ask(&request(4, "ping", json!({})))["result"], json!({}));
    client.close();
}

#[test]
fn the_same_tools_give_the_same_bytes() {
    let list = |world: &World| {
        let mut client = world.pipe();
        client.begin(json!({}));
        client.ask(&request(1, "tools/list", json!({}))).to_string()
    };
    let world = World::new();
    assert_eq!(list(&world), list(&world));
    assert_eq!(list(&world), list(&World::new()));
}

#[test]
fn a_stateless_client_needs_no_handshake_and_is_told_how_long_a_list_is_good() {
    let world = World::new();
    let mut client = world.pipe();
    let found = client.ask(&stateless(request(1, "server/discover", json!({})), json!({})));
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "tollgate");
    let list = client.ask(&stateless(request(2, "tools/list", json!({})), json!({})));
    assert_eq!(list["result"]["ttlMs"], 30_000);
    assert_eq!(list["result"]["cacheScope"], "private");
    let said = client.ask(&stateless(call(3, "echo", json!({"text": "hi"})), json!({})));
    assert_eq!((text(&said), &said["result"]["resultType"]), ("said: hi", &json!("complete")));
    let missing = client.ask(&call(4, "echo", json!({"text": "hi"})));
    assert_eq!(missing["error"]["code"], -32602);
    assert_eq!(world.ran(), ["echo hi"]);
}

#[test]
fn a_denied_argument_is_refused_and_a_tool_nobody_has_is_an_error_of_the_protocol() {
    let world = World::new();
    let mut client = world.pipe();
    client.begin(json!({}));
    let refused = client.ask(&call(1, "echo", json!({"text": "secret plan"})));
    assert_eq!(refused["result"]["isError"], true);
    assert!(text(&refused).starts_with("refused (denied)"), "{refused}");
    let wrong = client.ask(&call(2, "echo", json!({"txt": 5})));
    assert!(
        text(&wrong).contains("invalid_arguments") && text(&wrong).contains("did you mean `text`"),
        "{wrong}"
    );
    let unknown = client.ask(&call(3, "ecko", json!({})));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("Did you mean `echo`"), "{unknown}");
    assert!(world.ran().is_empty());
}

#[test]
fn an_oversized_answer_comes_as_preview_and_reference() {
    let world = World::new();
    let mut client = world.pipe();
    client.begin(json!({}));
    let long = client.ask(&call(1, "long", json!({})));
    assert!(text(&long).len() < 2_000 && text(&long).contains("left out"), "{long}");
    let reference = long["result"]["_meta"]["tollgate/offloaded"]["ref"].as_str().unwrap();
    assert!(reference.starts_with("sha256:") && text(&long).contains(reference));
}

#[test]
fn progress_reaches_who_asked_for_it_and_a_cancelled_call_stops_without_an_answer() {
    let world = World::new();
    let mut client = world.pipe();
    client.begin(json!({}));
    let mut waits = call(7, "waits", json!({}));
    waits["params"]["_meta"] = json!({"progressToken": "t1"});
    client.send(&waits);
    let progress = client.next();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(
        progress["params"],
        json!({"progressToken": "t1", "progress": 25.0, "total": 100.0, "message": "waiting"})
    );
    // A second request under the same id would take the first one's place.
    assert_eq!(client.ask(&call(7, "echo", json!({"text": "x"})))["error"]["code"], -32600);

    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    // Nothing of the cancelled call comes before the answer to the next one.
    assert_eq!(text(&client.ask(&call(8, "echo", json!({"text": "after"})))), "said: after");
    let until = Instant::now() + Duration::from_secs(5);
    while !world.ran().contains(&"waits stopped".to_owned()) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut ran = world.ran();
    ran.sort();
    assert_eq!(ran, ["echo after", "waits began", "waits stopped"]);
}

#[test]
fn a_client_that_goes_away_stops_its_calls() {
    let world = World::new();
    let mut client = world.pipe();
    client.begin(json!({}));
    client.send(&call(1, "waits", json!({})));
    while world.ran().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    client.close();
    assert_eq!(world.ran(), ["waits began", "waits stopped"]);
}

#[test]
fn a_burst_of_requests_is_answered_whole_while_nobody_reads() {
    let world = World::new();
    let mut client = world.pipe();
    client.begin(json!({}));
    for id in 1..=3000 {
        client.send(&call(id, "echo", json!({"text": "x".repeat(200)})));
    }
    let mut ids: Vec<u64> = (1..=3000).map(|_| client.next()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=3000).collect::<Vec<_>>());
}

#[test]
fn clients_are_told_when_tools_change() {
    let world = World::new();
    let mut with_session = world.pipe();
    with_session.begin(json!({}));
    let mut listening = world.pipe();
    let listen = request(
        5,
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}}),
    );
    listening.send(&stateless(listen, json!({})));
    let accepted = listening.next();
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(accepted["params"]["notifications"], json!({"toolsListChanged": true}));

    world.gateway.tools_changed();
    assert_eq!(with_session.next()["method"], "notifications/tools/list_changed");
    let told: Value = listening.next();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
}
