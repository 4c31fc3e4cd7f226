//! A server in the sandbox of commands: what it can do there, what it cannot, and that it does not start without one.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::skipped::skipped;
use crate::world::World;

/// What a server with these settings could do; `None` with one clear line where this machine cannot show it.
fn could(world: &World, settings: &str) -> Option<Value> {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        skipped("a server in the sandbox: there is no /usr/bin/python3 here");
        return None;
    }
    if world.run(&["doctor", "--json"]).json()["sandbox"]["level"] == "L1" {
        skipped("a server in the sandbox: this machine has none");
        return None;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("secret.txt");
    std::fs::write(&outside, "secret").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let script = world.file("probes.py", include_str!("../data/probes.py")).display().to_string();
    let outside = outside.display().to_string();
    configure(
        world,
        &format!("command = [\"/usr/bin/python3\", {script:?}, {outside:?}, {port:?}]\n{settings}"),
    );
    let ran = world.run(&["call", "@up/probe", "{}"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (start, end) = (ran.out.find('{').unwrap(), ran.out.rfind('}').unwrap());
    Some(serde_json::from_str(&ran.out[start..=end]).unwrap_or_else(|error| panic!("{error}: {ran:?}")))
}

fn configure(world: &World, server: &str) {
    let folder = world.path().join(".config/tollgate");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("tollgate.toml"),
        format!("[policy]\nallow = [\"@up/*\"]\n[mcp.servers.up]\n{server}"),
    )
    .unwrap();
}

#[test]
fn a_held_server_has_the_roots_and_no_more_and_the_network_only_where_its_entry_opens_it() {
    let all = json!({"read_outside": true, "write_outside": true, "write_inside": true, "connect": true});
    let roots =
        json!({"read_outside": false, "write_outside": false, "write_inside": true, "connect": false});
    let online =
        json!({"read_outside": false, "write_outside": false, "write_inside": true, "connect": true});
    let nothing =
        json!({"read_outside": false, "write_outside": false, "write_inside": false, "connect": false});
    for (settings, expected) in [
        ("", all),
        ("sandbox = true\n", roots),
        ("sandbox = \"writing\"\nnetwork = true\n", online),
        ("sandbox = \"reading\"\n", nothing),
    ] {
        let Some(could) = could(&World::new(), settings) else { return };
        assert_eq!(could, expected, "{settings}");
    }
}

#[test]
fn a_server_that_is_to_be_held_does_not_start_where_the_level_is_not_there() {
    let world = World::new();
    let started = world.path().join("started");
    let file = started.display().to_string();
    configure(&world, &format!("command = [\"/usr/bin/touch\", {file:?}]\nsandbox = true\n"));
    let mut command = world.command(&["call", "@up/probe", "{}"]);
    let low = world.run(&["doctor", "--json"]).json()["sandbox"]["level"] != "L3";
    // Where a machine has everything, it is not short of anything: then the walls themselves are looked at above.
    if !low {
        return;
    }
    let refused: crate::world::Ran = command.env("TOLLGATE_SANDBOX_REQUIRED", "L3").output().unwrap().into();
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.err.contains("need sandbox L3 here"), "{refused:?}");
    assert!(!started.exists());
}

#[test]
fn what_would_hold_nothing_is_an_error_with_its_place() {
    let world = World::new();
    for (server, words) in [
        ("url = \"https://example.org\"\nsandbox = true\n", "is no program"),
        ("command = \"x\"\nsandbox = \"tight\"\n", "no way to hold a server"),
        ("command = \"x\"\nnetwork = true\n", "`network` is said of a server that may write in a sandbox"),
        ("command = \"x\"\nsandbox = \"reading\"\nnetwork = true\n", "`network` is said of"),
    ] {
        configure(&world, server);
        let ran = world.run(&["mcp", "list"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains(words) && ran.err.contains("hint:"), "{ran:?}");
    }
    configure(&world, "command = \"/bin/true\"\nsandbox = true\n");
    let listed = world.run(&["mcp", "list", "--json"]).json();
    assert_eq!(listed["sandbox"], "may change the roots, no network");
}

#[test]
fn a_server_is_added_with_the_sandbox_it_is_to_run_in() {
    let world = World::new();
    let file = world.path().join(".config/tollgate/tollgate.toml");
    for (args, written, listed) in [
        (&["--sandbox"][..], "sandbox = true\n", json!("may change the roots, no network")),
        (
            &["--sandbox", "--network"],
            "sandbox = true\nnetwork = true\n",
            json!("may change the roots, network open"),
        ),
        (&["--sandbox=reading"], "sandbox = \"reading\"\n", json!("may only read")),
        (&[], "command = \"/bin/true\"\n", Value::Null),
    ] {
        let added = world.run(&[&["mcp", "add", "up"], args, &["--", "/bin/true"]].concat());
        assert_eq!(added.code, Some(0), "{added:?}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(written), "{text}");
        assert_eq!(world.run(&["mcp", "list", "--json"]).json()["sandbox"], listed);
        world.run(&["mcp", "remove", "up"]);
    }
    for odd in [
        &["--sandbox=reading", "--network", "--", "/bin/true"][..],
        &["--network", "--", "/bin/true"],
        &["--sandbox=all", "--", "/bin/true"],
        &["--sandbox", "--url", "https://example.org"],
    ] {
        let refused = world.run(&[&["mcp", "add", "up"], odd].concat());
        assert_eq!(refused.code, Some(2), "{odd:?}: {refused:?}");
        assert!(refused.err.contains("hint: "), "{refused:?}");
    }
}
