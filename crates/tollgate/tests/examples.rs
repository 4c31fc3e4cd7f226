//! The examples are programs a reader can run: each builds, prints what is promised, and fits on two screens.

#![cfg(feature = "macros")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

use std::{
    path::Path,
    process::{Command, Output},
};

/// An example: its name, its source and what it prints.
macro_rules! examples {
    ($($name:literal),+ $(,)?) => {
        [$((
            $name,
            include_str!(concat!("../../../examples/", $name, ".rs")),
            include_str!(concat!("../../../examples/expected/", $name, ".txt")),
        )),+]
    };
}

const EXAMPLES: [(&str, &str, &str); 8] = examples![
    "first_tool",
    "parallel_turn",
    "hook_rewrites",
    "ask_a_person",
    "observe",
    "at_most_once",
    "tool_with_state",
    "provider_loop",
];

#[expect(clippy::disallowed_methods, reason = "a test starts what a reader would start")]
fn run(example: &str) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--package", "tollgate", "--example", example]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

#[test]
fn every_example_prints_what_it_promises() {
    for (name, _, expected) in EXAMPLES {
        let output = run(name);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}: {stderr}");
        assert_eq!(stdout, expected, "{name}");
    }
}

#[test]
fn every_example_has_fewer_than_100_lines() {
    for (name, source, _) in EXAMPLES {
        assert!(source.lines().count() < 100, "{name} has {} lines", source.lines().count());
    }
}

#[test]
fn every_file_in_the_folder_is_an_example_of_this_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<_> =
        files.iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut listed = EXAMPLES.map(|(name, ..)| name.to_owned());
    listed.sort();
    assert_eq!(names, listed);
}
