use serde_json::json;
use tollgate_agent::standin::Say;

use crate::{
    api::{Provider, slowly},
    emulator::Emulator,
    person::{Person, Seat},
    world::World,
};

/// What is to be seen at the end of everything that was written.
fn seen(screen: &str, columns: usize) -> String {
    let mut emulator = Emulator::new(columns);
    emulator.feed(&screen.replace("\r\n", "\n"));
    emulator.seen()
}

fn reads() -> Say {
    Say::text("I will **look** at both.").call_with("c1", "read_file", &json!({"path": "a.txt"})).call_with(
        "c2",
        "read_file",
        &json!({"path": "b.txt"}),
    )
}

fn world() -> World {
    let world = World::new();
    world.file("a.txt", "one\ntwo\n");
    world.file("b.txt", "three\n");
    world
}

#[test]
fn a_task_is_shown_from_its_text_over_its_calls_to_its_end() {
    let provider = Provider::saying([reads(), Say::text("Both are *short*: three lines.")]);
    let world = world();
    let mut person = provider.person(&world, &["what is in the files?"]);
    person.sees("look").sees("read_file a.txt").sees("short");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    let seen = seen(&left.screen, 100);
    let order =
        ["I will look at both.", "✓ read_file a.txt", "✓ read_file b.txt", "Both are short: three lines."];
    let places: Vec<_> =
        order.iter().map(|text| seen.find(text).unwrap_or_else(|| panic!("{text}: {seen}"))).collect();
    assert!(places.is_sorted(), "{seen}");
    assert!(seen.contains("2 turns, 2 calls"), "{seen}");
    provider.is_content();
}
