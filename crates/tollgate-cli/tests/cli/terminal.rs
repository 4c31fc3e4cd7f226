use serde_json::{Value, json};

use crate::{
    person::Person,
    world::{World, tools},
};

fn world() -> World {
    World::with(&tools(&[("send", json!({})), ("edit", json!({}))]))
}

const MOCKS: [&str; 2] = ["--mocks", "mocks.json"];

fn call<'a>(tool: &'a str, input: &'a str) -> Vec<&'a str> {
    [&["call", tool, input][..], &MOCKS].concat()
}

/// The program on a turn of these calls of `send`.
fn turn(world: &World, inputs: &[Value]) -> Person {
    let calls: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(number, input)| json!({"id": format!("c{number}"), "name": "send", "input": input}))
        .collect();
    world.file("turn.json", json!({ "calls": calls }).to_string());
    Person::at(world, &[&["batch", "--format", "plain", "turn.json"][..], &MOCKS].concat())
}

/// What became of each call of a turn.
fn codes(out: &str) -> Vec<String> {
    let message: Value = serde_json::from_str(out).unwrap();
    let word = |result: &Value| result["code"].as_str().or(result["status"].as_str()).unwrap().to_owned();
    message["results"].as_array().unwrap().iter().map(word).collect()
}

#[test]
fn the_whole_call_is_shown_and_y_runs_it_once() {
    let world = world();
    let mut person = Person::at(
        &world,
        &[&call("send", r#"{"to":"ann","text":"hello"}"#)[..], &["--ask", "send"]].concat(),
    );
    person.sees("tollgate asks: may send run? (call call_1)").sees("rule     ask send   --ask");
    person
        .sees("effects  unsafe")
        .sees("sandbox  none")
        .sees("digest   ")
        .sees("input    whole, 36 characters");
    person.sees("\"to\": \"ann\",").sees("\"text\": \"hello\"").sees("y yes, once").presses("y");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    assert_eq!(left.out, "{\n  \"to\": \"ann\",\n  \"text\": \"hello\"\n}\n");
}

#[test]
fn n_and_a_message_are_a_no_the_model_is_told_of() {
    let world = world();
    let mut person = Person::at(&world, &[&call("send", "{}")[..], &["--json"]].concat());
    person.sees("y yes, once").presses("n");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(3), true), "{left:?}");
    let mut person = Person::at(&world, &[&call("send", "{}")[..], &["--json"]].concat());
    person.sees("y yes, once").presses("m").sees("to the model").presses("use the test boxx\x7f\n");
    let left = person.leaves();
    let result: Value = serde_json::from_str(&left.out).unwrap();
    assert_eq!((left.code, &result["code"]), (Some(3), &json!("denied")));
    assert_eq!(result["reason"], "The person said no: use the test box");
}

#[test]
fn ctrl_c_is_no_answer_and_interrupts_whatever_asked() {
    let world = world();
    for keys in ["\x03", "a\x03", "N\x03", "m\x03", "ae\x03", "a1\x03"] {
        let mut person = Person::at(&world, &[&call("send", "{}")[..], &["--json"]].concat());
        person.sees("y yes, once").presses(keys);
        let left = person.leaves();
        assert_eq!((left.code, left.restored), (Some(130), true), "{keys:?} {left:?}");
        let result: Value = serde_json::from_str(&left.out).unwrap();
        assert_eq!(
            (&result["status"], &result["code"]),
            (&json!("refused"), &json!("cancelled")),
            "{keys:?}"
        );
    }
    let mut person = turn(&world, &[json!({"n": 1}), json!({"n": 2})]);
    person.sees("(call c0)").sees("y yes, once").presses("\x03");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    assert_eq!(codes(&left.out), ["cancelled", "cancelled"], "every call of the turn is answered");
}

#[test]
fn ctrl_d_answers_no_and_the_run_goes_on() {
    let world = world();
    for keys in ["\x04", "a\x04", "N\x04", "m\x04", "ae\x04", "a1\x04"] {
        let mut person = turn(&world, &[json!({"n": 1}), json!({"n": 2})]);
        person.sees("(call c0)").sees("y yes, once").presses(keys);
        person.sees("(call c1)").sees("y yes, once").presses("y");
        let left = person.leaves();
        assert_eq!((left.code, left.restored), (Some(0), true), "{keys:?} {left:?}");
        assert_eq!(codes(&left.out), ["denied", "ok"], "{keys:?}");
    }
}

#[test]
fn keys_that_mean_nothing_are_no_answer_and_escape_goes_back() {
    let world = world();
    let mut person = Person::at(&world, &call("send", "{}"));
    person.sees("y yes, once").presses("\n x\x1b[A");
    person.presses("a").sees("how far?").presses("\x1b").sees("y yes, once");
    person.presses("m").sees("to the model").presses("\x1b").sees("y yes, once");
    person
        .presses("a")
        .sees("how far?")
        .presses("1")
        .sees("s for this session")
        .presses("\x1b")
        .sees("how far?");
    person.presses("\x1b").sees("y yes, once").presses("y");
    assert_eq!(person.leaves().code, Some(0));
}

#[test]
fn what_was_typed_before_the_question_stood_there_is_no_answer() {
    let world = world();
    let mut person = Person::start(&world, &call("send", "{}"), None, "yyyy\n");
    person.sees("y yes, once");
    std::thread::sleep(std::time::Duration::from_millis(300));
    person.presses("n");
    assert_eq!(person.leaves().code, Some(3));
}

#[test]
fn always_reaches_as_far_as_was_chosen_and_answers_the_questions_that_wait() {
    let world = world();
    let mut person = turn(&world, &[json!({"to": "ann"}), json!({"to": "ann"}), json!({"to": "bob"})]);
    person.sees("(call c0)").sees("y yes, once").presses("a").sees("always, how far?");
    person.sees("1  exactly this call").sees("send(to=\"ann\", only)").sees("Esc back").presses("1");
    person.sees("always this:").sees("send(to=\"ann\", only)").sees("s for this session").presses("s");
    person.sees("for this session: always").sees("(call c2)").sees("y yes, once").presses("n");
    let left = person.leaves();
    assert_eq!(codes(&left.out), ["ok", "ok", "denied"], "{left:?}");
}

#[test]
fn the_rule_is_edited_before_it_is_taken_and_must_mean_the_call() {
    let world = world();
    let mut person =
        turn(&world, &[json!({"to": "ann"}), json!({"to": "anna", "n": 1}), json!({"to": "bob"})]);
    person.sees("y yes, once").presses("a").sees("Esc back").presses("1").sees("Esc back").presses("e");
    person.sees("rule: send(to=\"ann\", only)");
    // Not a rule, then one of another call, then a good one.
    person.presses("\x15send(((\n").sees("this is no rule");
    person.presses("\x15send(to=bob)\n").sees("this rule does not mean the call that is asked about");
    person
        .presses("\x15send(to=ann*)\n")
        .sees("always this:")
        .sees("send(to=ann*)")
        .sees("Esc back")
        .presses("s");
    person.sees("(call c2)").sees("y yes, once").presses("n");
    let left = person.leaves();
    assert_eq!(codes(&left.out), ["ok", "ok", "denied"], "{left:?}");
}

#[test]
fn a_rule_that_is_far_too_wide_is_asked_about_once_more() {
    let world = world();
    let mut person = turn(&world, &[json!({"to": "ann"}), json!({"to": "bob"})]);
    person.sees("y yes, once").presses("a").sees("Esc back").presses("e").sees("rule: ");
    person.presses("\x15*\n").sees("is for every tool there is. Take it all the same? y").presses("n");
    person.sees("rule: *").presses("\n").sees("Take it all the same? y").presses("y");
    person.sees("always this:").sees("Esc back").presses("s");
    let left = person.leaves();
    assert_eq!(codes(&left.out), ["ok", "ok"], "{left:?}");
}

#[test]
fn never_denies_this_call_and_its_like() {
    let world = world();
    let mut person = turn(&world, &[json!({"to": "ann"}), json!({"to": "ann"}), json!({"to": "bob"})]);
    person
        .sees("y yes, once")
        .presses("N")
        .sees("never, how far?")
        .presses("1")
        .sees("never this:")
        .presses("s");
    person.sees("(call c2)").sees("y yes, once").presses("y");
    let left = person.leaves();
    assert_eq!(codes(&left.out), ["denied", "denied", "ok"], "{left:?}");
}

#[test]
fn what_would_deceive_a_person_is_made_visible() {
    let world = world();
    let input = json!({"cmd": "ls \u{202e}fr- mr\u{2066}", "zero\u{200b}width": "\u{1b}[2J\u{1b}[1;1Hyes", "tag": "\u{e0041}"});
    let mut person = Person::at(&world, &call("send", &input.to_string()));
    person.sees("ls \\u{202e}fr- mr\\u{2066}").sees("zero\\u{200b}width").sees("\\u001b[2J\\u001b[1;1Hyes");
    person.sees("\\u{e0041}").sees("y yes, once").presses("n");
    let left = person.leaves();
    assert!(!left.screen.contains(['\u{202e}', '\u{200b}', '\u{1b}', '\u{e0041}']), "{:?}", left.screen);
}

#[test]
fn an_edit_is_shown_as_a_diff_and_long_input_is_not_cut() {
    let world = world();
    world.file("notes.txt", "one\ntwo\nthree\n");
    let input = json!({"path": "notes.txt", "old_string": "two", "new_string": "2\u{202e}"}).to_string();
    let mut person = Person::at(&world, &call("edit", &input));
    person
        .sees("diff     ")
        .sees("notes.txt")
        .sees("@@ -1,3 +1,3 @@")
        .sees("-two")
        .sees("+2\\u{202e}")
        .presses("y");
    assert_eq!(person.leaves().code, Some(0));
    let long = json!({"text": "x".repeat(30_000), "end": "last words"}).to_string();
    let mut person = Person::start(&world, &[&["call", "send", "-"][..], &MOCKS].concat(), Some(&long), "");
    person.sees("whole, 30039 characters").sees("last words").sees("y yes, once").presses("n");
    let left = person.leaves();
    assert!(left.screen.contains(&"x".repeat(30_000)));
}

#[test]
fn the_terminal_is_asked_even_where_stdin_is_something_else() {
    let world = world();
    let mut person =
        Person::start(&world, &[&["call", "send", "-"][..], &MOCKS].concat(), Some("{\"a\": 1}"), "");
    person.sees("\"a\": 1").sees("y yes, once").presses("y");
    let left = person.leaves();
    assert_eq!((left.code, left.out.as_str()), (Some(0), "{\n  \"a\": 1\n}\n"));
}

#[test]
fn an_always_for_the_project_is_written_to_its_file_and_holds_next_time() {
    let world = world();
    let mut person = Person::at(&world, &call("send", r#"{"to":"ann"}"#));
    person.sees("y yes, once").presses("a").sees("Esc back").presses("1").sees("Esc back").presses("p");
    person.sees("in this project: always");
    let left = person.leaves();
    assert_eq!(left.code, Some(0), "{left:?}");
    let file = std::fs::read_to_string(world.path().join("tollgate.toml")).unwrap();
    assert!(file.contains(r#"send(to=\"ann\", only)"#) || file.contains(r#"send(to="ann", only)"#), "{file}");
    assert_eq!(world.on_mocks(&["call", "send", r#"{"to":"ann"}"#]).code, Some(0), "it is not asked again");
    assert_eq!(world.on_mocks(&["call", "send", r#"{"to":"bob"}"#]).code, Some(4));
}
