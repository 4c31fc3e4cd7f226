//! The public conformance suite against the built program: `tollgate serve` in front of a server that has the suite's
//! tools. `docs/conformance.md` has the list of what passes and the reasons of the rest.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::disallowed_methods,
    dead_code,
    reason = "the tests of the gateway have these helpers and use the rest of them"
)]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
#[path = "../../../tollgate-mcp/tests/gateway/fixtures.rs"]
mod fixtures;
#[path = "../../../tollgate-mcp/tests/gateway/installed.rs"]
mod installed;
#[path = "../../../tollgate-mcp/tests/gateway/scenarios.rs"]
mod scenarios;
#[path = "../../../tollgate-mcp/tests/gateway/world.rs"]
mod world;

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use tollgate::policy::Rules;
use tollgate_mcp::gateway::{Asking, Settings};

use crate::{
    scenarios::{NEWER, NEWER_SUITE, OLDER, SUITE, failing_at},
    world::{Address, World},
};

/// The program in front of the server; both end with this.
struct InFront {
    process: Child,
    url: String,
    _folder: tempfile::TempDir,
    _server: (World, Address),
}

impl InFront {
    fn start(generation: &str) -> Self {
        let asking = Asking::new().by_elicitation();
        let rules = Rules::new().allow("*").unwrap();
        let server = World::with(|_| fixtures::registry(), rules, asking, Settings::default());
        let at = server.open();
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let config = format!(
            "[policy]\nallow = [\"@up/*\"]\n\n[mcp.servers.up]\nurl = {:?}\ngeneration = {generation:?}\ntrust = true\nsampling = true\n",
            at.url()
        );
        std::fs::write(home.join("tollgate.toml"), config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--plain-names", "--search-over", "1000"]);
        command.current_dir(folder.path()).env("TOLLGATE_HOME", &home).env_remove("TOLLGATE_STORE");
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let (mut line, mut all) = (String::new(), String::new());
        while !line.contains("http://") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it served: {all}");
            all.push_str(&line);
        }
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        // Whatever else it says is read, so that it never waits for us.
        std::thread::spawn(move || drop(std::io::copy(&mut said, &mut std::io::sink())));
        Self { process, url, _folder: folder, _server: (server, at) }
    }
}

impl Drop for InFront {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_program_in_front_of_a_server_passes_the_scenarios_about_tools_for_sessions() {
    let program = InFront::start("legacy");
    // About the tool's own stream, which ends at the gateway.
    let scenarios: Vec<&str> = OLDER.into_iter().filter(|name| *name != "server-sse-polling").collect();
    let Some(failing) = failing_at(&program.url, SUITE, None, &scenarios) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn the_program_in_front_of_a_server_passes_the_newer_scenarios_for_sessions() {
    let program = InFront::start("legacy");
    let scenarios = [
        "server-initialize",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-elicitation",
        "server-session-lifecycle",
    ];
    let Some(failing) = failing_at(&program.url, NEWER_SUITE, Some("2025-11-25"), &scenarios) else {
        return;
    };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn the_program_in_front_of_a_server_passes_the_scenarios_about_tools_without_sessions() {
    let program = InFront::start("stateless");
    // What a server is told of its client is what the gateway lets it ask, and roots are the gateway's own.
    let ours = [
        "input-required-result-capability-check",
        "input-required-result-basic-list-roots",
        "input-required-result-multiple-input-requests",
    ];
    let scenarios: Vec<&str> = NEWER.into_iter().filter(|name| !ours.contains(name)).collect();
    let Some(failing) = failing_at(&program.url, NEWER_SUITE, Some("2026-07-28"), &scenarios) else {
        return;
    };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn a_scenario_the_program_does_not_serve_fails_so_that_a_pass_means_something() {
    let program = InFront::start("stateless");
    let Some(failing) = failing_at(&program.url, NEWER_SUITE, Some("2026-07-28"), &["prompts-list"]) else {
        return;
    };
    assert_eq!(failing.len(), 1);
}
