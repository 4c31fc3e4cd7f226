//! Servers that are not there: said in plain words, with what to do, and never waited for in silence.

use serde_json::{Value, json};

use crate::world::World;

fn configure(world: &World, server: &str) {
    let folder = world.path().join(".config/tollgate");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tollgate.toml"), format!("[mcp.servers.up]\n{server}")).unwrap();
}

#[test]
fn a_server_nobody_answers_at_is_told_by_its_address_without_secrets_and_with_a_hint() {
    let world = World::new();
    configure(&world, "url = \"http://me:word@127.0.0.1:9/mcp?key=word\"\n");
    for (args, hint) in [
        (["mcp", "check"], "hint: correct it where `tollgate mcp list` says it is written"),
        (["tools", "list"], "hint: `tollgate mcp check up` tries it again"),
    ] {
        let ran = world.run(&args);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("no connection to http://127.0.0.1:9/mcp: Connection refused"), "{said}");
        assert!(said.contains(hint) && !said.contains("word"), "{said}");
    }
}

#[test]
fn whoever_waits_for_a_slow_server_is_told_for_which() {
    let world = World::new();
    configure(&world, "command = [\"/bin/sh\", \"-c\", \"/bin/sleep 2; exit 3\"]\n");
    let ran = world.run(&["mcp", "check"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("note: waiting for the MCP servers: up"), "{ran:?}");
}

#[test]
fn a_server_that_ends_before_it_reads_anything_is_started_once_and_its_own_reason_told() {
    let world = World::new();
    let script = "echo again >> starts; echo no licence >&2; exit 3";
    configure(&world, &format!("command = [\"/bin/sh\", \"-c\", \"{script}\"]\n"));
    let ran = world.run(&["mcp", "check"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("exit code 3; it said: no licence"), "{ran:?}");
    let starts = std::fs::read_to_string(world.path().join("starts")).unwrap();
    assert_eq!(starts, "again\n", "{ran:?}");
}

#[test]
fn a_secret_in_the_path_of_an_address_is_shown_by_no_command() {
    let world = World::new();
    let secret = "8f14e45fceea167a5a36dedd4bea2543";
    configure(&world, &format!("url = \"http://127.0.0.1:9/mcp/{secret}/sse\"\n"));
    world.file(
        ".mcp.json",
        json!({"mcpServers": {"theirs": {"url": format!("https://example.org/{secret}")}}}).to_string(),
    );
    for (args, shown) in [
        (&["mcp", "check"][..], "http://127.0.0.1:9/mcp/[redacted]/sse"),
        (&["mcp", "list"], "http://127.0.0.1:9/mcp/[redacted]/sse"),
        (&["mcp", "list", "--json"], "https://example.org/[redacted]"),
        (&["tools", "list"], "http://127.0.0.1:9/mcp/[redacted]/sse"),
        (&["call", "up__look", "{}"], "http://127.0.0.1:9/mcp/[redacted]/sse"),
        (&["doctor"], "up"),
        (&["trust", ".mcp.json"], "https://example.org/[redacted]"),
    ] {
        let ran = world.run(args);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains(shown) && !said.contains(secret), "{args:?}: {said}");
    }
}

#[test]
fn a_tool_of_a_server_that_could_not_be_reached_is_not_said_not_to_exist() {
    let world = World::new();
    configure(&world, "command = [\"/bin/sh\", \"-c\", \"exit 3\"]\n");
    let told = |reason: &Value, hint: &Value, why: &str| {
        let (reason, hint) = (reason.as_str().unwrap_or_default(), hint.as_str().unwrap_or_default());
        assert!(reason.contains(&format!("its server `up` is configured, and {why}")), "{reason}");
        assert!(hint.contains("`tollgate mcp check up`"), "{hint}");
    };
    for name in ["@up/look", "up__look"] {
        let called = world.run(&["call", name, "{}", "--json"]);
        assert_eq!(called.status().1, "unknown_tool");
        told(&called.json()["reason"], &called.json()["hint"], "could not be reached");
        let explained = world.run(&["explain", name, "{}", "--json"]).json();
        told(&explained["reason"], &explained["hint"], "was not asked for its tools yet");
    }
    let person = world.run(&["call", "up__look", "{}"]);
    assert!(person.err.contains("hint:  `tollgate mcp check up` says what is wrong with it"), "{person:?}");
    let turn = json!({"calls": [{"id": "a", "name": "up__look", "input": {}}]}).to_string();
    let answered = &world.feed(&["batch", "--format", "plain"], turn).json()["results"][0];
    told(&answered["reason"], &answered["hint"], "could not be reached");
    // One that no server of a file could have is as unknown as ever.
    let other = world.run(&["call", "upper__look", "{}", "--json"]).json();
    assert_eq!(other["reason"], "There is no tool \"upper__look\".");
}

#[test]
fn a_client_of_the_gateway_is_told_that_the_server_of_a_tool_could_not_be_reached() {
    let world = World::new();
    configure(&world, "command = [\"/bin/sh\", \"-c\", \"exit 3\"]\n");
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "up__look", "arguments": {}}}),
    ];
    let ran = world.feed(&["mcp"], messages.map(|message| format!("{message}\n")).concat());
    let answer = ran.lines().into_iter().find(|line| line["id"] == 2).unwrap();
    let said = answer["error"]["message"].as_str().unwrap();
    assert!(said.contains("its server `up` is configured, and could not be reached"), "{said}");
    assert!(said.contains("`tollgate mcp check up`"), "{said}");
}

#[test]
fn a_server_that_ends_over_the_first_question_is_started_once_more_without_it() {
    let world = World::new();
    let script = r#"
echo again >> starts
while read -r line; do
    id=$(printf %s "$line" | /bin/sed 's/.*"id":\([0-9]*\).*/\1/')
    case "$line" in
    *server/discover*) exit 9 ;;
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}' ;;
    *tools/list*) result='{"tools":[]}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;
    let script = world.file("old.sh", script).display().to_string();
    configure(&world, &format!("command = [\"/bin/sh\", {script:?}]\n"));
    let ran = world.run(&["mcp", "check"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("up: ready, protocol 2025-11-25"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(world.path().join("starts")).unwrap(), "again\nagain\n");
}
