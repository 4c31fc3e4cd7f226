//! A command line: understood, and run in the sandbox.

use std::{
    hint::black_box,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tollgate::{
    Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    policy::Rules,
};
use tollgate_tools::{
    command::Shell,
    process::Environment,
    sandbox::{Level, Sandbox},
    shell::analyse,
};

use crate::table::{Row, wanted};

const LINES: &str = include_str!("../../crates/tollgate-tools/tests/data/shell.jsonl");

/// What the analysis of one line may take.
const BUDGET: Duration = Duration::from_micros(50);

/// The rows about command lines.
pub(crate) fn rows() -> Vec<Row> {
    if !wanted("shell") {
        return Vec::new();
    }
    let mut rows = vec![analysis()];
    rows.extend(run_true());
    rows
}

/// The median over labelled lines, each the best of several readings.
fn analysis() -> Row {
    let input = |line| {
        let case: Value = serde_json::from_str(line).expect("a line is JSON");
        case["input"].as_str().unwrap_or_default().to_owned()
    };
    let lines: Vec<String> = LINES.lines().map(input).collect();
    let best = |line: &String| {
        let once = |_| {
            let began = Instant::now();
            black_box(analyse(black_box(line)));
            began.elapsed()
        };
        (0..20).map(once).min().unwrap_or_default()
    };
    let mut times: Vec<_> = lines.iter().map(best).collect();
    times.sort_unstable();
    Row::ratio(
        "shell: analysis of a line, median",
        "what it may take",
        BUDGET,
        times[times.len() / 2],
        Some(1.0),
    )
}

/// `shell true` at L2 through the whole path, against bash started with nothing around it.
fn run_true() -> Option<Row> {
    if Sandbox::probed().found().level < Level::L2 {
        println!("skipped: shell true at L2, which this machine does not have");
        return None;
    }
    let folder = std::env::temp_dir();
    let environment = Environment::empty().with("PATH", "/usr/bin:/bin");
    let registry = Shell::in_sandbox(environment, None, Sandbox::at(Level::L2))
        .register(Registry::new(), None)
        .expect("two tools");
    let rules = Rules::new().allow("shell").expect("a rule");
    let gate = Tollgate::builder(registry).policy(rules).build();
    let scope = Arc::new(Scope::new(Run::new("bench"), Workspace::with_roots(folder.clone(), vec![folder])));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (mut floor, mut figure) = (Vec::new(), Vec::new());
    for at in 0..200 {
        let began = Instant::now();
        bare();
        floor.push(began.elapsed());
        let call = Proposed::new(format!("c{at}"), "shell", &json!({ "command": "true" }));
        let began = Instant::now();
        let settled = runtime.block_on(gate.call(&scope, call));
        figure.push(began.elapsed());
        assert!(settled.output().is_some(), "{:?} {:?}", settled.refusal(), settled.failure());
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    Some(Row::ratio(
        "shell: `true` at L2, whole path, median",
        "bash -c true",
        median(floor),
        median(figure),
        Some(1.5),
    ))
}

#[expect(clippy::disallowed_methods, reason = "the floor is a process with nothing around it")]
fn bare() {
    let mut command = Command::new("/usr/bin/bash");
    command.args(["--noprofile", "--norc", "-c", "true"]).env_clear().env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().expect("bash runs");
    assert!(output.status.success());
}
