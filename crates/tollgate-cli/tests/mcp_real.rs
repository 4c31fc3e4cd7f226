//! Real servers as upstreams: installed once below `target/`, or skipped with a line that says why.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends there")]
#![expect(clippy::disallowed_methods, reason = "servers and the program are started as a person starts them")]

#[path = "../../tollgate/tests/skipped/mod.rs"]
mod skipped;
#[path = "../../tollgate-mcp/tests/gateway/installed.rs"]
mod installed;

use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::installed::{node, python};
use skipped::skipped;

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn with(name: &str, trust: bool, words: &[&str]) -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(world.work()).unwrap();
        let mut args = vec!["mcp", "add", name];
        args.extend(trust.then_some("--trust"));
        args.push("--");
        args.extend(words);
        assert_eq!(world.tollgate(&args).status.code(), Some(0));
        world
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn tollgate(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(args).current_dir(self.work()).stdin(Stdio::null());
        command.env("TOLLGATE_HOME", self.folder.path().join("home")).output().unwrap()
    }

    fn check(&self) -> Value {
        let checked = self.tollgate(&["mcp", "check", "--json"]);
        let text = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.status.code(), Some(0), "{text} {}", String::from_utf8_lossy(&checked.stderr));
        serde_json::from_str(&text).unwrap()
    }

    fn call(&self, tool: &str, args: &Value) -> Value {
        let said = self.tollgate(&["call", tool, &args.to_string(), "--json", "--allow", "@*"]);
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        serde_json::from_str(&text)
            .unwrap_or_else(|_| panic!("{text} {}", String::from_utf8_lossy(&said.stderr)))
    }
}

#[test]
fn the_everything_server_lists_its_tools_and_answers() {
    let Some((_, packages)) = node("the everything server") else { return };
    let world =
        World::with("every", false, &["node", packages.join(".bin/mcp-server-everything").to_str().unwrap()]);
    let checked = world.check();
    assert_eq!(checked["state"], "ready");
    assert!(checked["tools"].as_array().unwrap().len() > 5, "{checked}");
    let answer = world.call("@every/echo", &json!({"message": "hi"}));
    assert_eq!(
        (&answer["status"], &answer["output"][0]["text"]),
        (&json!("ok"), &json!("Echo: hi")),
        "{answer}"
    );
    let image = world.call("@every/get-tiny-image", &json!({}));
    assert!(image["output"].as_array().unwrap().iter().any(|item| item["type"] == "image"), "{image}");
    let wrong = world.call("@every/echo", &json!({"massage": "hi"}));
    assert_eq!(wrong["code"], "invalid_arguments", "{wrong}");
}

#[test]
fn the_filesystem_server_reads_and_its_errors_are_results() {
    let Some((_, packages)) = node("the filesystem server") else { return };
    let world = World::with(
        "files",
        true,
        &["node", packages.join(".bin/mcp-server-filesystem").to_str().unwrap(), "."],
    );
    std::fs::write(world.work().join("a.txt"), "what it says").unwrap();
    let read = world.call("@files/read_text_file", &json!({"path": "a.txt"}));
    assert_eq!(read["status"], "ok", "{read}");
    assert!(read["output"].to_string().contains("what it says"));
    let missing = world.call("@files/read_text_file", &json!({"path": "b.txt"}));
    assert_eq!(missing["status"], "fatal_error", "{missing}");
}

#[test]
fn the_git_server_speaks_the_newer_generation_and_answers() {
    let Some(bin) = python("the git server") else { return };
    let server = bin.join("mcp-server-git");
    // The first start of all compiles what it imports, which may take longer than a start may.
    assert!(Command::new(&server).arg("--help").output().is_ok_and(|output| output.status.success()));
    let world = World::with("git", false, &[server.to_str().unwrap()]);
    let made = Command::new("git").args(["init", "-q"]).current_dir(world.work()).output();
    if !made.is_ok_and(|output| output.status.success()) {
        skipped("there is no git here");
        return;
    }
    let checked = world.check();
    assert_eq!(
        (&checked["state"], &checked["protocol"]),
        (&json!("ready"), &json!("2026-07-28")),
        "{checked}"
    );
    let status = world.call("@git/git_status", &json!({"repo_path": world.work()}));
    assert_eq!(status["status"], "ok", "{status}");
}
