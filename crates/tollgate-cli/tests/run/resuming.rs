use serde_json::json;
use tollgate_agent::standin::Say;

use crate::{api::Provider, skipped::skipped, world::World};

/// How often a line stands in a file.
fn lines(world: &World, name: &str) -> usize {
    std::fs::read_to_string(world.path().join(name)).unwrap_or_default().lines().count()
}

#[test]
fn after_kill_9_in_the_middle_of_a_call_what_ended_is_not_run_again_and_what_did_not_is_unknown() {
    let provider = Provider::saying([
        Say::text("First.").call_with("c1", "shell", &json!({"command": "echo one >> done.txt"})),
        Say::text("Second.").call_with("c2", "shell", &json!({"command": "echo two >> done.txt; sleep 30"})),
    ]);
    let world = World::new();
    // Below that a command that writes where our own folders lie asks.
    if world.level() != "L3" {
        return skipped("a run that is killed in a command: no L3 here");
    }
    let mut person = provider.person(&world, &["do both", "--allow", "shell"]);
    person.sees("Second.").sees("sleep 30");
    while lines(&world, "done.txt") < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    person.kills();
    let provider = Provider::saying([Say::text("One is done, the other nobody knows.")]);
    let ran = provider.run(&world, &["--continue", "--print", "--allow", "shell"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "One is done, the other nobody knows.\n"), "{ran:?}");
    assert_eq!(lines(&world, "done.txt"), 2, "nothing was run twice");
    let told = provider.standin.seen()[0].body["messages"].to_string();
    assert!(told.contains("unknown"), "{told}");
    provider.is_content();
}

#[test]
fn a_call_that_had_started_is_unknown_on_resuming_whoever_allows_it_now_and_nobody_is_asked_about_it() {
    let world = World::new();
    if world.level() != "L3" {
        return skipped("a run that is killed in a command: no L3 here");
    }
    let killed = |world: &World| {
        let command = json!({"command": "echo x >> done.txt; sleep 30"});
        let provider = Provider::saying([Say::text("I do it.").call_with("c1", "shell", &command)]);
        let before = lines(world, "done.txt");
        let mut person = provider.person(world, &["do it", "--allow", "shell"]);
        person.sees("sleep 30");
        while lines(world, "done.txt") == before {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        person.kills();
    };
    killed(&world);
    let provider = Provider::saying([Say::text("Nobody knows.")]);
    let ran = provider.run(&world, &["--continue", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events = ran.lines();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).collect::<Vec<_>>();
    assert!(named("call_asked").is_empty(), "{}", ran.out);
    let statuses: Vec<_> = named("call_settled").iter().map(|event| &event["answer"]["status"]).collect();
    assert_eq!(statuses, ["unknown"], "{}", ran.out);
    let told = provider.standin.seen()[0].body["messages"].to_string();
    assert!(told.contains("nobody knows whether it took effect"), "{told}");
    provider.is_content();
    let listed = world.run(&["trace", "list", "--json"]);
    assert_eq!(
        (&listed.lines()[0]["calls"], &listed.lines()[0]["unknown"]),
        (&json!(1), &json!(1)),
        "{listed:?}"
    );
    let shown = world.run(&["trace", "show"]);
    assert!(!shown.out.contains("asked"), "{}", shown.out);

    killed(&world);
    let provider = Provider::saying([Say::text("Nobody knows.")]);
    let mut person = provider.person(&world, &["--continue"]);
    person.sees("? shell").sees("Nobody knows.").sees("> ").presses("/quit\n");
    let left = person.leaves();
    assert_eq!(left.code, Some(0), "{left:?}");
    assert!(!left.screen.contains("may shell run?"), "{}", left.screen);
    assert_eq!(lines(&world, "done.txt"), 2, "nothing was run twice");
    provider.is_content();
}

#[test]
fn after_kill_9_while_a_question_stands_it_is_asked_again() {
    let provider = Provider::saying([Say::text("I write.").call_with(
        "c1",
        "write",
        &json!({"path": "a.txt", "content": "x\n"}),
    )]);
    let world = World::new();
    let mut person = provider.person(&world, &["write"]);
    person.sees("may write run?").sees("y yes, once");
    person.kills();
    let provider = Provider::saying([Say::text("Written.")]);
    let mut person = provider.person(&world, &["--resume"]);
    person.sees("goes on with").sees("may write run?").sees("y yes, once").presses("y").sees("Written.");
    person.sees("> ").presses("/quit\n");
    let left = person.leaves();
    assert_eq!(left.code, Some(0), "{left:?}");
    assert_eq!(lines(&world, "a.txt"), 1);
    provider.is_content();
}

#[test]
fn sessions_are_listed_and_found_by_the_beginning_of_their_id() {
    let provider = Provider::saying([Say::text("One."), Say::text("Two."), Say::text("One again.")]);
    let world = World::new();
    assert_eq!(provider.run(&world, &["the first task", "--print"]).code, Some(0));
    assert_eq!(provider.run(&world, &["the second task", "--print"]).code, Some(0));
    let listed = world.run(&["run", "--list", "--json"]);
    let titles: Vec<_> =
        listed.lines().iter().map(|line| line["title"].as_str().unwrap().to_owned()).collect();
    assert_eq!(titles, ["the second task", "the first task"]);
    let id = listed.lines()[1]["id"].as_str().unwrap().to_owned();
    assert!(world.run(&["run", "--list"]).out.contains("the first task"));
    let ran = provider.run(&world, &["--resume", &id[..id.len() - 2], "once more", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "One again.\n"), "{ran:?}");
    let told = provider.standin.seen()[2].body["messages"].to_string();
    assert!(told.contains("the first task") && told.contains("once more"), "{told}");
    provider.is_content();
}

#[test]
fn the_run_is_in_the_trace_under_the_session_s_id() {
    let provider = Provider::saying([
        Say::text("").call_with("c1", "read_file", &json!({"path": "a.txt"})),
        Say::text("Read."),
    ]);
    let world = World::new();
    world.file("a.txt", "x\n");
    assert_eq!(provider.run(&world, &["read", "--print"]).code, Some(0));
    let id = world.run(&["run", "--list", "--json"]).json()["id"].as_str().unwrap().to_owned();
    let shown = world.run(&["trace", "show", &id]);
    assert!(shown.out.contains("read_file"), "{shown:?}");
}
