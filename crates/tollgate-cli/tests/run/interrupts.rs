use serde_json::{Value, json};
use tollgate_agent::standin::{Cut, Say};

use crate::{
    api::{Provider, slowly},
    skipped::skipped,
    world::World,
};

/// Every call of a request has its one result.
fn answered(body: &Value) -> bool {
    let text = body["messages"].to_string();
    text.matches("\"tool_use\"").count() == text.matches("\"tool_result\"").count()
}

#[test]
fn ctrl_c_while_the_model_speaks_ends_the_turn_and_tells_how_to_go_on() {
    let provider = Provider::saying([slowly(Say::text(&"words ".repeat(400)), 200)]);
    let world = World::new();
    let mut person = provider.person(&world, &["talk"]);
    person.sees("words").presses("\x03").sees("interrupted").sees("tollgate run --resume s");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(130), true), "{left:?}");
    let provider = Provider::saying([Say::text("Here I am.")]);
    let ran = provider.run(&world, &["--continue", "go on", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Here I am.\n"), "{ran:?}");
    provider.is_content();
}

#[test]
fn ctrl_c_while_a_command_runs_answers_every_call_and_the_conversation_goes_on() {
    let provider = Provider::saying([Say::text("Two of them.")
        .call_with("c1", "shell", &json!({"command": "sleep 30"}))
        .call_with("c2", "shell", &json!({"command": "echo second > second.txt"}))]);
    let world = World::new();
    let mut person = provider.person(&world, &["run them", "--allow", "shell"]);
    person.sees("shell sleep 30");
    std::thread::sleep(std::time::Duration::from_millis(500));
    person.presses("\x03").sees("interrupted");
    // The command may be one that is not stopped by the first; the second stops everything.
    person.presses("\x03");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(130), true), "{left:?}");
    assert!(!world.path().join("second.txt").exists(), "nothing begins after an interruption");
    let provider = Provider::saying([Say::text("I see what happened.")]);
    let ran = provider.run(&world, &["--continue", "and now?", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "I see what happened.\n"), "{ran:?}");
    assert!(answered(&provider.standin.seen()[0].body), "{}", provider.standin.seen()[0].body);
    provider.is_content();
}

#[test]
fn a_model_that_says_nothing_is_stopped_by_ctrl_c_at_once() {
    let provider = Provider::saying([Say::text("never").cut(Cut::Hang(0))]);
    let world = World::new();
    let mut person = provider.person(&world, &["talk"]);
    person.sees("waiting for");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let began = std::time::Instant::now();
    person.presses("\x03").sees("--resume");
    let left = person.leaves();
    assert_eq!(left.code, Some(130), "{left:?}");
    assert!(began.elapsed().as_secs() < 5);
}

#[test]
fn after_an_interruption_the_person_types_on() {
    let provider = Provider::saying([slowly(Say::text(&"words ".repeat(400)), 200), Say::text("Better.")]);
    let world = World::new();
    let mut person = provider.person(&world, &[]);
    person.sees("> ").presses("talk\n").sees("words").presses("\x03").sees("interrupted").sees("> ");
    person.presses("shorter\n").sees("Better.").sees("> ").presses("/quit\n");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    provider.is_content();
}

#[test]
fn what_is_typed_while_calls_run_is_said_once_they_are_answered_and_questions_have_the_keys_first() {
    let provider = Provider::saying([
        Say::text("I wait.").call_with("c1", "shell", &json!({"command": "sleep 4"})),
        Say::text("").call_with("c2", "write", &json!({"path": "a.txt", "content": "x\n"})),
        Say::text("Heard."),
    ]);
    let world = World::new();
    let mut person = provider.person(&world, &["--allow", "shell"]);
    person.sees("> ").presses("wait\n").sees("shell sleep 4");
    std::thread::sleep(std::time::Duration::from_millis(300));
    person.presses("be quick").sees("> be quick").presses("\n");
    person.sees("may write run?").sees("y yes, once").presses("y").sees("Heard.").sees("> ");
    person.presses("/quit\n");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    let told = provider.standin.seen()[1].body["messages"].to_string();
    assert!(told.contains("be quick"), "{told}");
    assert!(answered(&provider.standin.seen()[1].body));
    provider.is_content();
}

#[test]
fn told_to_end_a_run_stops_its_command_answers_its_call_and_leaves() {
    use rustix::process::Signal;
    let provider = Provider::saying([Say::text("").call_with(
        "c1",
        "shell",
        &json!({"command": "echo x > begun.txt; sleep 30"}),
    )]);
    let world = World::new();
    if world.level() != "L3" {
        return skipped("a run that is told to end in a command: no L3 here");
    }
    let mut person = provider.person(&world, &["go", "--allow", "shell"]);
    person.sees("sleep 30");
    while !world.path().join("begun.txt").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    person.signals(Signal::TERM).sees("interrupted").sees("--resume");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(130), true), "{left:?}");
    assert!(!world.path().join(".envrc").exists(), "nothing of ours stays in the project");
    let provider = Provider::saying([Say::text("I see.")]);
    let ran = provider.run(&world, &["--continue", "and?", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "I see.\n"), "{ran:?}");
    assert!(answered(&provider.standin.seen()[0].body));
    // Also while nothing runs, and the person could type.
    let provider = Provider::saying([Say::text("Hello.")]);
    for signal in [Signal::TERM, Signal::HUP] {
        let mut person = provider.person(&world, &[]);
        person.sees("> ").signals(signal);
        let left = person.leaves();
        assert_eq!((left.code, left.restored), (Some(130), true), "{signal:?}: {left:?}");
    }
}

#[test]
fn ctrl_c_at_a_question_interrupts_the_turn_and_is_no_answer() {
    let write = json!({"path": "a.txt", "content": "x\n"});
    let provider = Provider::saying([Say::text("I write.").call_with("c1", "write", &write)]);
    let world = World::new();
    let mut person = provider.person(&world, &["write"]);
    person.sees("may write run?").sees("y yes, once").presses("\x03").sees("interrupted").sees("--resume");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(130), true), "{left:?}");
    assert!(!left.screen.contains("The person said no"), "{}", left.screen);
    assert!(!world.path().join("a.txt").exists());
    let provider = Provider::saying([Say::text("Not written.")]);
    let ran = provider.run(&world, &["--continue", "go on", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Not written.\n"), "{ran:?}");
    let told = provider.standin.seen()[0].body["messages"].to_string();
    assert!(told.contains("interrupted before it started"), "{told}");
    provider.is_content();
}
