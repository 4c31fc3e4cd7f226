//! The public conformance suite, against the gateway in front of tools that are as the suite wants them.
//!
//! `docs/conformance.md` has the list of what passes and the reasons of the rest.

use std::time::Duration;

use tollgate::policy::Rules;
use tollgate_mcp::gateway::{Asking, Settings};

use crate::{
    fixtures,
    npm::{INSTALLED, command, finish, node},
    world::{Address, World},
};

fn world() -> (World, Address) {
    let asking = Asking::new().by_elicitation();
    let world =
        World::with(|_| fixtures::registry(), Rules::new().allow("*").unwrap(), asking, Settings::default());
    let address = world.open();
    (world, address)
}

/// Runs these scenarios; what did not pass, with what the suite said.
fn failing(suite: (&str, &str), version: Option<&str>, scenarios: &[&str]) -> Option<Vec<String>> {
    let (node, folder) = node(&[suite], "the conformance suite")?;
    let (_world, address) = world();
    let program = folder.join("node_modules").join(suite.1).join("dist/index.js");
    let mut failing = Vec::new();
    for scenario in scenarios {
        let mut run = command(&node);
        run.arg(&program).args(["server", "--url", &address.url(), "--scenario", scenario]);
        if let Some(version) = version {
            run.args(["--spec-version", version]);
        }
        let output = finish(&mut run, Duration::from_secs(60));
        let said = output
            .as_ref()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default();
        if !output.is_some_and(|output| output.status.success()) {
            failing.push(format!("{scenario}:\n{said}"));
        }
    }
    Some(failing)
}

const OLDER: [&str; 20] = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "server-sse-multiple-streams",
    "elicitation-sep1330-enums",
    "server-sse-polling",
    "dns-rebinding-protection",
];

const NEWER: [&str; 24] = [
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "http-header-validation",
    "http-custom-header-server-validation",
    "input-required-result-basic-elicitation",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-request-state",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-result-type",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
    "input-required-result-validate-input",
];

#[test]
fn the_suites_scenarios_about_tools_pass_for_sessions() {
    let Some(failing) = failing(INSTALLED[0], None, &OLDER) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn the_newer_suites_scenarios_about_tools_pass_for_sessions() {
    let scenarios: Vec<&str> = OLDER.into_iter().chain(["server-session-lifecycle"]).collect();
    let Some(failing) = failing(INSTALLED[1], Some("2025-11-25"), &scenarios) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn the_suites_scenarios_about_tools_pass_without_sessions() {
    let Some(failing) = failing(INSTALLED[1], Some("2026-07-28"), &NEWER) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}
