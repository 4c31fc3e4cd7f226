//! The scenarios of the public conformance suite that are about tools, and how one is run.

use std::{path::Path, process::Output, time::Duration};

use crate::installed::{command, finish, node};

/// Where the suites are, below `node_modules`.
pub(crate) const SUITE: &str = "@modelcontextprotocol/conformance";
pub(crate) const NEWER_SUITE: &str = "conf2";

/// Runs these scenarios against the server at `url`; what did not pass, with what the suite said.
pub(crate) fn failing_at(
    url: &str,
    suite: &str,
    version: Option<&str>,
    scenarios: &[&str],
) -> Option<Vec<String>> {
    let (node, packages) = node("the conformance suite")?;
    let program = packages.join(suite).join("dist/index.js");
    let run = |scenario: &&str| {
        let mut run = command(&node);
        run.arg(&program).args(["server", "--url", url, "--scenario", scenario]);
        if let Some(version) = version {
            run.args(["--spec-version", version]);
        }
        passed(scenario, finish(&mut run, Duration::from_secs(60)))
    };
    Some(scenarios.iter().filter_map(run).collect())
}

/// Has the suite play the server for a client of ours, scenario by scenario.
pub(crate) fn failing_client(client: &Path, suite: &str, scenarios: &[&str]) -> Option<Vec<String>> {
    let (node, packages) = node("the conformance suite")?;
    let program = packages.join(suite).join("dist/index.js");
    let run = |scenario: &&str| {
        let mut run = command(&node);
        run.arg(&program).args(["client", "--scenario", scenario, "--command"]).arg(client);
        passed(scenario, finish(&mut run, Duration::from_secs(90)))
    };
    Some(scenarios.iter().filter_map(run).collect())
}

/// What the suite said, where it does not say that the scenario passed.
fn passed(scenario: &str, output: Option<Output>) -> Option<String> {
    let said = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    (!output.is_some_and(|output| output.status.success()))
        .then(|| format!("{scenario}:\n{}", said.unwrap_or_default()))
}

/// For the revisions with a session.
pub(crate) const OLDER: [&str; 20] = [
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

/// For the stateless revision.
pub(crate) const NEWER: [&str; 27] = [
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
