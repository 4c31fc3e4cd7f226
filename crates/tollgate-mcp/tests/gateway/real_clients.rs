//! Clients of others: the SDK for Python, the inspector's command line.

use std::time::Duration;

use crate::{
    installed::{command, finish, node, python},
    world::World,
};

const SCRIPT: &str = include_str!("client.py");

#[test]
fn the_python_client_lists_calls_and_is_asked() {
    let Some(bin) = python("the Python client") else { return };
    let world = World::new();
    let address = world.open();
    let mut run = command(bin.join("python"));
    run.args(["-c", SCRIPT, &address.url()]);
    let output = finish(&mut run, Duration::from_secs(60)).expect("the client came to its end");
    let (said, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{err}");
    let expected = "add change destroy echo long waits\nsaid: hello\nerror True refused (denied)\nasked Allow this call?\nsaid: approved\nsum 5\n";
    assert_eq!(said, expected, "{err}");
    assert_eq!(world.ran(), ["echo hello", "change approved"]);
}

#[test]
fn the_inspector_lists_and_calls() {
    let Some((node, packages)) = node("the inspector") else { return };
    let world = World::new();
    let address = world.open();
    let package = packages.join("@modelcontextprotocol/inspector");
    let about: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(package.join("package.json")).unwrap()).unwrap();
    let program = match &about["bin"] {
        serde_json::Value::String(path) => path.clone(),
        bins => bins.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned(),
    };
    let inspect = |more: &[&str]| {
        let mut run = command(&node);
        run.arg(package.join(&program)).args(["--cli", &address.url(), "--transport", "http"]).args(more);
        let output = finish(&mut run, Duration::from_secs(60)).expect("the inspector came to its end");
        assert!(
            output.status.success(),
            "{} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(inspect(&["--method", "tools/list"]).contains("\"echo\""));
    let said = inspect(&["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hi"]);
    assert!(said.contains("said: hi"), "{said}");
}
