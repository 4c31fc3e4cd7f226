//! How soon the program is there, and how much memory it takes: `--version`, and a call of a mock.
//!
//! The programs are the release builds beside this one (`cargo build --release -p tollgate-cli -p tollgate-benches`).

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    run::{command, program},
    table::{Measure, Row, best_of, wanted},
};

const ROUNDS: usize = 100;

/// What a short command may take, in KiB.
const MEMORY: u32 = 10_000_000 / 1_024;

const MOCKS: &str = r#"{"tools": [
    {"name": "quick", "description": "Answers.", "input_schema": {"type": "object"}, "effects": {"read_only": true}},
    {"name": "slow", "description": "Answers later.", "input_schema": {"type": "object"},
     "effects": {"read_only": true}, "answers": [{"ok": {}, "delay_ms": 300}]}]}"#;

pub(crate) fn rows() -> Vec<Row> {
    if !wanted("start: ") {
        return Vec::new();
    }
    let programs = program().and_then(|program| {
        let bare = program.with_file_name("bare");
        bare.is_file().then_some((program, bare))
    });
    let Some((program, bare)) = programs else {
        println!("start: skipped: needs `cargo build --release -p tollgate-cli -p tollgate-benches` first");
        return Vec::new();
    };
    let home = tempfile::tempdir().expect("a folder");
    // As they are installed, by copying them: what a linker wrote piece by piece is mapped piece by piece.
    let [program, bare] = [program, bare].map(|file| {
        let copy = home.path().join(file.file_name().unwrap_or_default());
        std::fs::copy(&file, &copy).expect("a copy");
        copy
    });
    let mocks = home.path().join("mocks.json");
    std::fs::write(&mocks, MOCKS).expect("mocks");
    let mocks = mocks.to_str().expect("a name in UTF-8");
    let calling = |tool, more: &[&str]| {
        let mut words = vec!["call", tool, "{}", "--mocks", mocks, "--allow", "*"];
        words.extend(more);
        in_folder(&program, home.path(), &words)
    };
    let mut rows = Vec::new();
    let mut row = |name: &str, limit, floor: &dyn Fn() -> Command, figure: &dyn Fn() -> Command| {
        let (floor, figure) = best_of(ROUNDS, || ended(floor()), || (), |()| ended(figure()));
        rows.push(Row::ratio(name, "a bare clap program", floor, figure, limit));
    };
    row("start: `tollgate --version`", Some(2.0), &|| in_folder(&bare, home.path(), &["--version"]), &|| {
        in_folder(&program, home.path(), &["--version"])
    });
    let said = || in_folder(&bare, home.path(), &["quick", "{}"]);
    row("start: `tollgate call` on a mock", Some(2.0), &said, &|| calling("quick", &["--no-store"]));
    row("start: `tollgate call` on a mock, recorded", None, &said, &|| calling("quick", &[]));
    let memory = most_memory(calling("slow", &["--no-store"]));
    let allowed = "10 MB, what is allowed";
    rows.push(Row::ratio(
        "start: memory of `tollgate call` on a mock",
        allowed,
        Measure::Kibibytes(MEMORY),
        memory,
        Some(1.0),
    ));
    rows
}

fn in_folder(program: &Path, home: &Path, words: &[&str]) -> Command {
    let mut command = command(program);
    command.args(words).current_dir(home).env_clear().env("HOME", home);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn ended(mut command: Command) {
    assert!(command.status().expect("the program").success(), "{command:?}");
}

/// The most memory a program had, in KiB, as far as it can be seen while it runs.
fn most_memory(mut command: Command) -> Measure {
    let mut child = command.spawn().expect("the program");
    let status = format!("/proc/{}/status", child.id());
    let (mut most, began) = (0, Instant::now());
    while child.try_wait().expect("its state").is_none() {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|size| size.parse().ok());
        most = most.max(size.unwrap_or(0));
        assert!(began.elapsed() < Duration::from_secs(20), "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    Measure::Kibibytes(most)
}
