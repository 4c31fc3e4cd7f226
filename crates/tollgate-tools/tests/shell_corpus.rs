//! Labelled command lines: nothing that changes something is called read-only, and nothing plain is asked about.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop the test")]

use serde_json::Value;
use tollgate_tools::shell::analyse;

struct Case {
    id: String,
    input: String,
    read_only: bool,
    stretch: bool,
    why: String,
}

fn cases(text: &str) -> Vec<Case> {
    let of = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        Case {
            id: text("id"),
            input: case["input"].as_str().unwrap().to_owned(),
            read_only: case["label"] == "read_only",
            stretch: case["tier"] == "stretch",
            why: text("why"),
        }
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(of).collect()
}

/// The labels that were missed: unsafe ones, plain ones that would be asked about, harder ones that would be.
fn missed(cases: &[Case]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (mut wrong, mut over, mut harder) = (vec![], vec![], vec![]);
    for case in cases {
        let analysis = analyse(&case.input);
        let told = |why: &str| format!("{} {:?}: {} ({why})", case.id, case.input, case.why);
        match (case.read_only, &analysis.read_only) {
            (false, Ok(())) => wrong.push(told("called read-only")),
            (true, Err(why)) if case.stretch => harder.push(told(&why.to_string())),
            (true, Err(why)) => over.push(told(&why.to_string())),
            _ => {}
        }
    }
    (wrong, over, harder)
}

fn judged(text: &str) {
    let cases = cases(text);
    let (wrong, over, harder) = missed(&cases);
    assert!(wrong.is_empty(), "unsafe:\n{}", wrong.join("\n"));
    assert!(over.is_empty(), "asked for nothing:\n{}", over.join("\n"));
    let all = cases.iter().filter(|case| case.read_only && case.stretch).count();
    assert!(
        harder.len() * 3 <= all,
        "{} of {all} harder ones are asked about:\n{}",
        harder.len(),
        harder.join("\n")
    );
    println!("{} lines, {} of {all} harder ones asked about: {harder:#?}", cases.len(), harder.len());
}

#[test]
fn the_shared_lines_are_labelled_right() {
    judged(include_str!("data/shell.jsonl"));
}

#[test]
fn our_own_lines_are_labelled_right() {
    judged(include_str!("data/shell_own.jsonl"));
}
