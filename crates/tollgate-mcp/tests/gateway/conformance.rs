//! The public conformance suite, against the gateway in front of tools that are as the suite wants them.
//!
//! `docs/conformance.md` has the list of what passes and the reasons of the rest.

use tollgate::policy::Rules;
use tollgate_mcp::gateway::{Asking, Settings};

use crate::skipped::skipped;
use crate::{
    fixtures,
    scenarios::{NEWER, NEWER_SUITE, OLDER, SUITE, failing_at, failing_client},
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
fn failing(suite: &str, version: Option<&str>, scenarios: &[&str]) -> Option<Vec<String>> {
    let (_world, address) = world();
    failing_at(&address.url(), suite, version, scenarios)
}

#[test]
fn the_suites_scenarios_about_tools_pass_for_sessions() {
    let Some(failing) = failing(SUITE, None, &OLDER) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn the_newer_suites_scenarios_about_tools_pass_for_sessions() {
    let scenarios: Vec<&str> = OLDER.into_iter().chain(["server-session-lifecycle"]).collect();
    let Some(failing) = failing(NEWER_SUITE, Some("2025-11-25"), &scenarios) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn the_suites_scenarios_about_tools_pass_without_sessions() {
    let Some(failing) = failing(NEWER_SUITE, Some("2026-07-28"), &NEWER) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn a_scenario_that_is_not_served_fails_so_that_a_pass_means_something() {
    let Some(failing) = failing(NEWER_SUITE, Some("2026-07-28"), &["prompts-list"]) else { return };
    assert_eq!(failing.len(), 1);
}

/// Our client against the suite's servers: a part of what `docs/mcp.md` lists, in the time a test may take.
#[test]
fn the_client_passes_the_suites_scenarios_about_tools() {
    let client = std::env::current_exe().unwrap();
    let client =
        client.parent().and_then(std::path::Path::parent).unwrap().join("examples/conformance_client");
    if !client.exists() {
        skipped("scenarios of the client: `cargo build -p tollgate-mcp --example conformance_client` first");
        return;
    }
    let older = [
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "auth/metadata-default",
    ];
    let newer = [
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "auth/iss-supported",
    ];
    for (suite, scenarios) in [(SUITE, older), (NEWER_SUITE, newer)] {
        let Some(failing) = failing_client(&client, suite, &scenarios) else { return };
        assert!(failing.is_empty(), "{}", failing.join("\n\n"));
    }
}
