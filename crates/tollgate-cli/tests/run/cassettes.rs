use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_agent::standin::Say;

use crate::{
    api::Provider,
    emulator::Emulator,
    person::{Person, Seat},
    world::World,
};

#[test]
fn the_demonstration_is_a_real_task_on_a_real_folder_and_ends_with_the_trace() {
    let world = World::new();
    let began = Instant::now();
    let ran = world.command(&["demo"]).env("PATH", "/usr/local/bin:/usr/bin:/bin").output().unwrap();
    let ran = crate::world::Ran::from(ran);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
    let order = [
        "$ tollgate run \"The check fails.",
        "ok      read_file README.md",
        "ok      read_file total.sh",
        "ok      read_file check.sh",
        "exit 1",
        "WRONG  10000 = 10000, not 9000",
        "ok      edit total.sh",
        "-if [ \"$total\" -gt 10000 ]; then",
        "+if [ \"$total\" -ge 10000 ]; then",
        "ok     10000 = 9000",
        "refused shell git push origin main",
        "shell(git push *)",
        "Publishing was refused",
        "What was recorded, and who allowed it (tollgate trace show s",
        "turn 1   read_file  ok",
        "allow edit",
        "turn 4   shell      refused",
        "Go on:",
        "tollgate run \"",
        "built-in",
    ];
    let mut at = 0;
    for text in order {
        let found = ran.out[at..].find(text).unwrap_or_else(|| panic!("{text:?} after {at}: {}", ran.out));
        at += found;
    }
    assert!(!ran.out.contains('\u{1b}'), "no colour in a pipe");
    assert_eq!(world.run(&["run", "--list", "--json"]).out, "", "it leaves no session behind");
}

#[test]
fn the_demonstration_fits_a_terminal_of_60_columns() {
    let world = World::new();
    let seat = Seat { columns: 60, whole: true, ..Seat::default() };
    let mut person = Person::seated(&world, &["demo"], &seat);
    person.sees("Go on:");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    let mut emulator = Emulator::new(60);
    emulator.feed(&left.screen);
    let seen = emulator.seen();
    assert!(seen.contains("✓ edit total.sh") && seen.contains("✗ shell git push"), "{seen}");
}

#[test]
fn what_was_recorded_is_played_back_without_a_key() {
    let provider = Provider::saying([
        Say::text("I look.").call_with("c1", "read_file", &json!({"path": "a.txt"})),
        Say::text("It says one."),
    ]);
    let world = World::new();
    world.file("a.txt", "one\n");
    let ran = provider.run(&world, &["what does it say?", "--print", "--record", "tape.jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "It says one.\n"), "{ran:?}");
    provider.is_content();
    let tape = std::fs::read_to_string(world.path().join("tape.jsonl")).unwrap();
    assert!(!tape.contains("sk-standin"), "{tape}");
    let play = ["run", "--model", "cassette:tape.jsonl", "--print"];
    let ran = world.run(&[&play[..], &["what does it say?"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "It says one.\n"), "{ran:?}");
}

#[test]
fn a_conversation_that_departs_and_a_cassette_that_is_none_are_told_in_one_line() {
    let world = World::new();
    world.file(
        "tape.jsonl",
        "{\"cassette\":1,\"provider\":\"anthropic\"}\n{\"user\":\"hello\"}\n{\"assistant\":\"Hello.\"}\n",
    );
    world.file("bad.jsonl", "{\"cassette\":1,\"provider\":\"anthropic\"}\n{\"usr\":\"hello\"}\n");
    let cases = [
        (["cassette:tape.jsonl", "good bye"], 1, "hello"),
        (["cassette:bad.jsonl", "hello"], 2, "line 2"),
        (["cassette:absent.jsonl", "hello"], 2, "absent.jsonl"),
    ];
    for ([model, prompt], code, said) in cases {
        let ran = world.run(&["run", "--model", model, prompt, "--print"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{model}: {ran:?}");
        let lines: Vec<_> = ran.err.lines().collect();
        assert!(
            lines.len() == 2 && lines[0].starts_with("error: ") && lines[1].starts_with("hint: "),
            "{ran:?}"
        );
        assert!(lines[0].contains(said), "{ran:?}");
    }
}

#[test]
fn where_commands_are_not_confined_the_demonstration_goes_on_without_them() {
    let world = World::new();
    for (name, content) in [
        ("README.md", include_str!("../../demo/project/README.md")),
        ("total.sh", include_str!("../../demo/project/total.sh")),
        ("check.sh", include_str!("../../demo/project/check.sh")),
        ("tape.jsonl", include_str!("../../demo/conversation.jsonl")),
    ] {
        world.file(name, content);
    }
    let task = "The check fails. Find out why, fix it, and publish the fix.";
    // As where nothing confines a command and nobody is there to say yes.
    let rules = ["--ask", "shell", "--allow", "edit"];
    let ran = world.run(&[&["run", task, "--model", "cassette:tape.jsonl", "--print"], &rules[..]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.out.contains("Fixed, not checked, not published"), "{ran:?}");
    assert!(std::fs::read_to_string(world.path().join("total.sh")).unwrap().contains("-ge 10000"));
}
