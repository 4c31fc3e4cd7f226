//! Servers that are not there: said in plain words, with what to do, and never waited for in silence.

use serde_json::json;

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
