use serde_json::json;
use tollgate_agent::standin::Say;

use crate::{
    api::{Provider, slowly},
    asker::asking,
    emulator::Emulator,
    person::{Person, Seat, plain},
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
    assert!(seen.contains("2 turns, 2 calls ran"), "{seen}");
    provider.is_content();
}

#[test]
fn a_call_that_asks_shows_the_question_beside_what_runs_and_goes_on_with_the_answer() {
    let provider = Provider::saying([
        Say::text("I write it.").call_with("c1", "write", &json!({"path": "new.txt", "content": "hello\n"})),
        Say::text("Written."),
    ]);
    let world = world();
    let mut person = provider.person(&world, &["write it"]);
    person
        .sees("tollgate asks: may write run?")
        .sees("+hello")
        .sees("y yes, once")
        .presses("y")
        .sees("Written.");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    let seen = seen(&left.screen, 100);
    assert!(seen.contains("✓ write new.txt  created +1 −0"), "{seen}");
    assert!(seen.contains("    +hello"), "{seen}");
    assert_eq!(std::fs::read_to_string(world.path().join("new.txt")).unwrap(), "hello\n");
    provider.is_content();
}

#[test]
fn a_server_that_asks_during_a_run_is_answered_at_the_same_place() {
    let question = json!({"message": "Which seat?", "requestedSchema": {"type": "object", "properties": {"row": {"type": "integer"}}}});
    let Some(world) = asking(&question) else { return };
    let provider = Provider::saying([
        Say::text("I book.").call_with("c1", "up__book", &json!({})),
        Say::text("Booked."),
    ]);
    let mut person = provider.person(&world, &["book it"]);
    person.sees("the server up asks:").sees("Which seat?").sees("y answer").presses("y");
    person
        .sees("row: a whole number")
        .sees("  : ")
        .presses("7\r")
        .sees("row = 7")
        .sees("y send")
        .presses("y");
    person.sees("Booked.");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    let told = provider.standin.seen()[1].body.to_string();
    assert!(told.contains("accept") && told.contains('7'), "{told}");

    let provider = Provider::saying([
        Say::text("I book.").call_with("c1", "up__book", &json!({})),
        Say::text("Booked."),
    ]);
    let ran = provider.run(&world, &["book it", "--print"]);
    assert!(ran.err.contains("the server up asks: Which seat?; declined"), "{ran:?}");
}

#[test]
fn a_no_is_told_to_the_model_and_shown_with_its_reason() {
    let provider = Provider::saying([
        Say::text("").call_with("c1", "write", &json!({"path": "new.txt", "content": "hello\n"})),
        Say::text("As you wish."),
    ]);
    let world = world();
    let mut person = provider.person(&world, &["write it"]);
    person.sees("y yes, once").presses("m").sees("to the model").presses("not here\n").sees("As you wish.");
    let left = person.leaves();
    assert_eq!(left.code, Some(0), "{left:?}");
    let seen = seen(&left.screen, 100);
    assert!(seen.contains("✗ write new.txt  refused at 4 permit, denied"), "{seen}");
    assert!(seen.contains("The person said no: not here"), "{seen}");
    let told = provider.standin.seen().last().unwrap().body.to_string();
    assert!(told.contains("not here"), "{told}");
    assert!(!world.path().join("new.txt").exists());
}

#[test]
fn text_is_on_screen_while_the_rest_of_it_is_still_coming() {
    let text = format!("First words. {}", "More of them come later. ".repeat(40));
    let provider = Provider::saying([slowly(Say::text(&text), 300)]);
    let world = world();
    let mut person = provider.person(&world, &["talk"]);
    person.sees("First words.");
    assert!(!person.screen().contains('$'), "the turn is not over yet");
    assert!(provider.standin.left() == 0 && person.screen().matches("later").count() < 40);
    assert_eq!(person.leaves().code, Some(0));
}

#[test]
fn messages_are_typed_one_after_the_other_and_commands_are_ours() {
    let provider = Provider::saying([Say::text("One."), Say::text("Two.")]);
    let world = world();
    let mut person = provider.person(&world, &[]);
    person.sees("/help shows").sees("> ").presses("/help\n").sees("/cost").sees("> ");
    person
        .presses("/tols\n")
        .sees("/tols is no command")
        .sees("> ")
        .presses("/tools\n")
        .sees("read_file")
        .sees("> ");
    person.presses("first\n").sees("One.").sees("> ");
    // A paste of several lines is one message.
    person.presses("\x1b[200~second\nof two lines\x1b[201~").presses("\n").sees("Two.").sees("> ");
    person.presses("/cost\n").sees("2 turns").sees("> ").presses("\x04");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    for not_offered in ["  report", "  start_work"] {
        assert!(!left.screen.contains(not_offered), "{not_offered} is among /tools");
    }
    // A session in which nothing was said is none.
    let mut person = provider.person(&world, &[]);
    person.sees("> ").presses("\x04");
    assert_eq!(person.leaves().code, Some(0));
    assert_eq!(world.run(&["run", "--list", "--json"]).lines().len(), 1);
    let seen = provider.standin.seen();
    assert!(seen[0].body["messages"].to_string().contains("first"), "{}", seen[0].body);
    assert!(seen[1].body["messages"].to_string().contains("second\\nof two lines"), "{}", seen[1].body);
    provider.is_content();
}

#[test]
fn every_row_fits_a_window_of_60_and_of_20_columns_and_nothing_is_lost() {
    for columns in [60, 20] {
        let provider = Provider::saying([
            reads(),
            Say::text(
                "Both files are short, and there is a `rather_long_name_in_code` beside **bold words** here.",
            ),
        ]);
        let world = world();
        let seat = Seat { columns, ..provider.seat() };
        let mut person =
            Person::seated(&world, &["run", "--model", "anthropic:stand-in", "what is in the files?"], &seat);
        person.sees("words");
        let left = person.leaves();
        assert_eq!(left.code, Some(0), "{left:?}");
        let text = seen(&left.screen, usize::from(columns));
        let flat: String = text.split_whitespace().collect();
        for part in ["Iwilllookatboth.", "read_filea.txt", "rather_long_name_in_code", "boldwordshere."] {
            assert!(flat.contains(part), "{columns}: {part}: {text}");
        }
    }
}

#[test]
fn a_window_that_is_made_narrow_while_calls_run_leaves_no_rows_behind() {
    let provider = Provider::saying([
        Say::text("I look.").call_with(
            "c1",
            "shell",
            &json!({"command": "sleep 1; echo some words that are long enough"}),
        ),
        Say::text("Done."),
    ]);
    let world = world();
    let mut person = provider.person(&world, &["look", "--allow", "shell"]);
    person.sees("shell sleep 1").resizes(30).sees("Done.");
    let left = person.leaves();
    assert_eq!(left.code, Some(0), "{left:?}");
    let after = plain(&left.screen);
    assert_eq!(after.matches("✓ shell").count(), 1, "{after:?}");
}

#[test]
fn no_color_sends_no_style_and_a_dumb_terminal_no_sequence() {
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let provider = Provider::saying([reads(), Say::text("**Both** are short.")]);
        let world = world();
        let mut seat = provider.seat();
        seat.env.retain(|(known, _)| *known != name);
        seat.env.push((name, value.to_owned()));
        let mut person = Person::seated(&world, &["run", "--model", "anthropic:stand-in", "look"], &seat);
        person.sees("are short.");
        let left = person.leaves();
        assert_eq!(left.code, Some(0), "{left:?}");
        assert!(!left.screen.contains("\u{1b}[0"), "{name}: {:?}", left.screen);
        assert!(plain(&left.screen).contains("**Both** are short."), "{name}: {:?}", left.screen);
        if name == "TERM" {
            assert!(!left.screen.contains('\u{1b}'), "{:?}", left.screen);
        }
    }
}

#[test]
fn what_a_model_says_moves_no_cursor_and_hides_nothing() {
    let provider = Provider::saying([
        Say::text("a\u{1b}[2Jb \u{202e}c").call_with(
            "c1",
            "read_file",
            &json!({"path": "x\u{1b}]0;t\u{7}.txt"}),
        ),
        Say::text("end"),
    ]);
    let world = world();
    let person = provider.person(&world, &["look"]);
    let left = person.leaves();
    assert!(plain(&left.screen).contains("a\\u{1b}[2Jb \\u{202e}c"), "{:?}", left.screen);
    assert!(!left.screen.contains("\u{1b}[2J") && !left.screen.contains("\u{1b}]0;"), "{:?}", left.screen);
}

#[test]
fn the_model_asks_and_the_person_answers_in_words_or_by_number() {
    let provider = Provider::saying([
        Say::text("").call_with(
            "c1",
            "ask_user",
            &json!({"question": "Which colour?", "choices": ["red", "green"]}),
        ),
        Say::text("Green it is."),
    ]);
    let world = world();
    let mut person = provider.person(&world, &["paint"]);
    person.sees("the model asks").sees("Which colour?").sees("2  green").presses("2\n").sees("Green it is.");
    assert_eq!(person.leaves().code, Some(0));
    let told = provider.standin.seen().last().unwrap().body["messages"].to_string();
    assert!(told.contains("green"), "{told}");
}

#[test]
fn the_list_of_things_to_do_is_shown() {
    let items =
        json!({"items": [{"text": "read", "state": "done"}, {"text": "write", "state": "in_progress"}]});
    let provider = Provider::saying([Say::text("").call_with("c1", "todo", &items), Say::text("On it.")]);
    let world = world();
    let mut person = provider.person(&world, &["work"]);
    person.sees("[x] read").sees("[>] write").sees("On it.");
    assert_eq!(person.leaves().code, Some(0));
}
