use std::time::Duration;

use serde_json::json;

use crate::world::{World, tools};

fn world() -> World {
    World::with(&tools(&[
        ("fine", json!({})),
        ("busy", json!({"answers": [{"retryable": {"message": "try later", "retry_after_ms": 50}}]})),
        ("broken", json!({"answers": [{"error": "no such thing"}]})),
        ("lost", json!({"answers": [{"unknown": "the line went dead"}]})),
        ("crash", json!({"answers": [{"panic": "boom"}]})),
        ("form", json!({"requires_interaction": true})),
        ("keyed", json!({"requires_idempotency_key": true})),
        ("slow", json!({"answers": [{"hang": true}]})),
    ]))
}

#[test]
fn a_call_that_went_well_is_0() {
    let ran = world().allowed(&["call", "fine", r#"{"a": 1}"#]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "{\n  \"a\": 1\n}\n", ""));
}

#[test]
fn a_tool_that_failed_is_1_and_says_what_to_do() {
    let world = world();
    let cases = [
        (
            "busy",
            "retryable_error at 5 execute: busy\n  reason try later\n  hint:  nothing happened; try again in 50 ms.\n",
        ),
        (
            "broken",
            "fatal_error at 5 execute: broken\n  reason no such thing\n  hint:  the same call will fail again; change the arguments.\n",
        ),
        (
            "lost",
            "unknown at 5 execute: lost\n  reason the line went dead\n  hint:  find out whether it took effect before you repeat it.\n",
        ),
    ];
    for (tool, said) in cases {
        let ran = world.allowed(&["call", tool]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(1), "", said));
    }
}

#[test]
fn a_tool_that_panics_is_1_and_prints_no_panic() {
    let ran = world().allowed(&["call", "crash"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.starts_with("fatal_error at 5 execute: crash\n  reason The tool failed unexpectedly"),
        "{ran:?}"
    );
    assert!(!ran.err.contains("panicked") && !ran.err.contains("boom"), "{ran:?}");
}

#[test]
fn bad_usage_is_2_and_ends_with_a_hint() {
    let world = world();
    world.file("text", "x");
    let cases: &[&[&str]] = &[
        &[],
        &["call"],
        &["cal", "fine"],
        &["call", "fine", "--colour"],
        &["explain"],
        &["explain", "fine", "--jsonl"],
        &["completions", "tcl"],
        &["call", "fine", "--mocks", "absent.json"],
        &["call", "fine", "--mocks", "."],
        &["call", "fine", "--mocks", "text"],
        &["call", "fine", "--root", "absent"],
        &["call", "fine", "--root", "text"],
        &["call", "fine", "--deny", ""],
        &["call", "fine", "--deny", "shell(rm *"],
        &["explain", "--jsonl", "absent.jsonl"],
    ];
    for args in cases {
        let ran = world.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?} {ran:?}");
        assert!(ran.err.lines().last().unwrap().starts_with("hint: "), "{args:?} {ran:?}");
    }
}

#[test]
fn a_concurrency_that_is_no_number_of_calls_is_2_with_a_hint() {
    let world = world();
    for value in ["0", "-1", "many", "1.5", "99999999999999999999", "10001"] {
        let args = ["call", "fine", "--mocks", "mocks.json", "--allow", "*"];
        let output = world.command(&args).env("TOLLGATE_MAX_CONCURRENCY", value).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        let said = format!(
            "error: TOLLGATE_MAX_CONCURRENCY is {value}, which is no number of calls\n\
                            hint: set it to a number from 1 to 10000, or unset it.\n"
        );
        assert_eq!((output.status.code(), err), (Some(2), said));
    }
    for value in ["1", " 7 ", ""] {
        let args = ["call", "fine", "--mocks", "mocks.json", "--allow", "*"];
        let output = world.command(&args).env("TOLLGATE_MAX_CONCURRENCY", value).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{value:?}");
    }
}

#[test]
fn a_refused_call_is_3_and_says_by_which_rule() {
    let ran = world().on_mocks(&["call", "fine", "--allow", "*", "--deny", "fi*"]);
    let said = "refused at 2 check: fine\n  rule   deny fi*   --deny\n  \
                reason A call of `fine` like this is denied by the rule `deny fi*`.\n  \
                hint:  Do it another way, or say what you would need and why.\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(3), "", said));
}

#[test]
fn a_tool_that_wants_a_key_of_its_own_is_3_without_one_and_0_with_one() {
    let world = world();
    let ran = world.allowed(&["call", "keyed"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.ends_with("  hint:  give --idempotency-key KEY.\n"), "{ran:?}");
    assert_eq!(world.allowed(&["call", "keyed", "--idempotency-key", "k1"]).code, Some(0));
}

#[test]
fn a_call_that_needs_a_person_is_4() {
    let world = world();
    let cases = [
        (
            &["call", "fine"][..],
            "give --allow 'fine' to let it run; `tollgate explain fine JSON` shows narrower rules.",
        ),
        (&["call", "fine", "--allow", "*", "--ask", "fine"], "leave --ask out, or let a person answer."),
    ];
    for (args, hint) in cases {
        let ran = world.on_mocks(args);
        assert_eq!(ran.code, Some(4), "{args:?}");
        assert!(ran.err.starts_with("refused at 4 permit: fine\n"), "{ran:?}");
        assert!(ran.err.ends_with(&format!("  hint:  {hint}\n")), "{ran:?}");
    }
    assert_eq!(world.allowed(&["call", "form"]).code, Some(4));
}

#[test]
fn a_rule_given_before_the_command_counts_as_much_as_one_given_after_it() {
    let world = world();
    let ran = world.run(&[
        "--deny",
        "fine",
        "--mocks",
        "mocks.json",
        "call",
        "fine",
        "--deny",
        "other",
        "--allow",
        "*",
    ]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[test]
fn an_interrupted_call_is_130_and_still_answered() {
    let world = world();
    let args = ["call", "slow", "--mocks", "mocks.json", "--allow", "*", "--json", "--events"];
    let mut child = world.command(&args).spawn().unwrap();
    // The first events come when the body has begun and waits.
    let mut events = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"started\"") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut events, &mut line).unwrap(), 0, "it never began");
    }
    std::thread::sleep(Duration::from_millis(50));
    interrupt(child.id());
    let drain = std::thread::spawn(move || std::io::copy(&mut events, &mut std::io::sink()));
    let ran: crate::world::Ran = child.wait_with_output().unwrap().into();
    drain.join().unwrap().unwrap();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(ran.status().0, "unknown");
}

fn interrupt(process: u32) {
    let killed = std::process::Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap();
    assert!(killed.success());
}
