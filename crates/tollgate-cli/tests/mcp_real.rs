//! Real servers as upstreams: installed once below `target/`, or skipped with a line that says why.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends there")]
#![expect(clippy::disallowed_methods, reason = "servers and the program are started as a person starts them")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

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

/// Packages of npm, installed once; `None` where that cannot be.
fn npm(packages: &[&str]) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-npm");
    let there = |package: &&str| folder.join("node_modules").join(package).exists();
    if !packages.iter().all(there) {
        std::fs::create_dir_all(&folder).unwrap();
        let installed = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&folder)
            .args(packages)
            .output();
        if !installed.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: npm cannot install {packages:?} here (no Node, or no network)");
            return None;
        }
    }
    Some(folder.join("node_modules/.bin"))
}

#[test]
fn the_everything_server_lists_its_tools_and_answers() {
    let Some(bin) =
        npm(&["@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem"])
    else {
        return;
    };
    let world = World::with("every", false, &["node", bin.join("mcp-server-everything").to_str().unwrap()]);
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
    let Some(bin) =
        npm(&["@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem"])
    else {
        return;
    };
    let world =
        World::with("files", true, &["node", bin.join("mcp-server-filesystem").to_str().unwrap(), "."]);
    std::fs::write(world.work().join("a.txt"), "what it says").unwrap();
    let read = world.call("@files/read_text_file", &json!({"path": "a.txt"}));
    assert_eq!(read["status"], "ok", "{read}");
    assert!(read["output"].to_string().contains("what it says"));
    let missing = world.call("@files/read_text_file", &json!({"path": "b.txt"}));
    assert_eq!(missing["status"], "fatal_error", "{missing}");
}

#[test]
fn the_git_server_speaks_the_newer_generation_and_answers() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-python");
    let server = folder.join("bin/mcp-server-git");
    if !server.exists() {
        let made = Command::new("python3")
            .args(["-m", "venv"])
            .arg(&folder)
            .output()
            .is_ok_and(|output| output.status.success());
        let installed = made
            && Command::new(folder.join("bin/pip"))
                .args(["install", "--quiet", "mcp-server-git"])
                .output()
                .is_ok_and(|output| output.status.success());
        if !installed {
            eprintln!(
                "skipped: mcp-server-git cannot be installed here (no Python 3 with venv, or no network)"
            );
            return;
        }
    }
    // The first start of all compiles what it imports, which may take longer than a start may.
    assert!(Command::new(&server).arg("--help").output().is_ok_and(|output| output.status.success()));
    let world = World::with("git", false, &[server.to_str().unwrap()]);
    let made = Command::new("git").args(["init", "-q"]).current_dir(world.work()).output();
    if !made.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no git here");
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
