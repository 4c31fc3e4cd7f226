//! The public conformance suite, against the gateway in front of tools that are as the suite wants them.
//!
//! `docs/conformance.md` has the list of what passes and the reasons of the rest.

use std::{sync::Arc, time::Duration};

use tollgate::{
    BoxFuture, Registry,
    launch::{Launcher, Program, Started},
    policy::Rules,
};
use tollgate_mcp::{
    ServerConfig, Upstreams, Wanted, Wiring,
    config::{Generation, ServerName},
    gateway::{Asking, Settings},
};

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

/// The same tools at a server, and the gateway in front of that.
fn behind(generation: Generation) -> (Behind, Address) {
    let (server, at) = world();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut config = ServerConfig::http(ServerName::new("up").unwrap(), at.url());
    config.generation = generation;
    config.trust = true;
    config.sampling = true;
    let upstreams = Upstreams::new([config], Wiring::new(Arc::new(NoPrograms)));
    runtime.block_on(upstreams.connect(Wanted::All));
    let registered = upstreams.register(Registry::new());
    let status = upstreams.status();
    assert!(status[0].health.reason().is_none(), "{:?}", status[0].health);
    assert!(registered.set_aside.is_empty(), "{:?}", registered.set_aside);
    let mut settings = Settings::default();
    settings.plain_names = true;
    let rules = Rules::new().allow("@up/*").unwrap();
    let world = World::with(|_| registered.registry, rules, Asking::new().by_elicitation(), settings);
    let address = world.open();
    (Behind { _worlds: (server, world), _at: at, _upstreams: upstreams, _runtime: runtime }, address)
}

struct Behind {
    _worlds: (World, World),
    _at: Address,
    _upstreams: Upstreams,
    _runtime: tokio::runtime::Runtime,
}

/// The server is at an address: nothing is started.
struct NoPrograms;

impl Launcher for NoPrograms {
    fn start(&self, _: Program) -> BoxFuture<'_, std::io::Result<Started>> {
        Box::pin(std::future::ready(Err(std::io::Error::other("nothing is started here"))))
    }
}

/// Runs these scenarios; what did not pass, with what the suite said.
fn failing(suite: (&str, &str), version: Option<&str>, scenarios: &[&str]) -> Option<Vec<String>> {
    let (_world, address) = world();
    failing_at(&address, suite, version, scenarios)
}

fn failing_at(
    address: &Address,
    suite: (&str, &str),
    version: Option<&str>,
    scenarios: &[&str],
) -> Option<Vec<String>> {
    let (node, folder) = node(&[suite], "the conformance suite")?;
    let program = folder.join("node_modules").join(suite.1).join("dist/index.js");
    let run = |scenario: &&str| {
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
        (!output.is_some_and(|output| output.status.success())).then(|| format!("{scenario}:\n{said}"))
    };
    Some(scenarios.iter().filter_map(run).collect())
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

const NEWER: [&str; 27] = [
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
    "input-required-result-ignore-extra-params",
    "input-required-result-unsupported-methods",
    "server-stateless",
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

#[test]
fn a_scenario_that_is_not_served_fails_so_that_a_pass_means_something() {
    let Some(failing) = failing(INSTALLED[1], Some("2026-07-28"), &["prompts-list"]) else { return };
    assert_eq!(failing.len(), 1);
}

#[test]
fn in_front_of_a_server_with_the_suites_tools_the_scenarios_pass_for_sessions() {
    let (_behind, address) = behind(Generation::Legacy);
    let scenarios: Vec<&str> = OLDER.into_iter().filter(|name| *name != "server-sse-polling").collect();
    let Some(failing) = failing_at(&address, INSTALLED[0], None, &scenarios) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}

#[test]
fn in_front_of_a_server_with_the_suites_tools_the_scenarios_pass_without_sessions() {
    let (_behind, address) = behind(Generation::Stateless);
    // What a server is told of its client is what the gateway lets it ask, and roots are the gateway's own.
    let ours = [
        "input-required-result-capability-check",
        "input-required-result-basic-list-roots",
        "input-required-result-multiple-input-requests",
    ];
    let scenarios: Vec<&str> = NEWER.into_iter().filter(|name| !ours.contains(name)).collect();
    let Some(failing) = failing_at(&address, INSTALLED[1], Some("2026-07-28"), &scenarios) else { return };
    assert!(failing.is_empty(), "{}", failing.join("\n\n"));
}
