//! A server asks the person: as a form at the terminal, and as a no where nobody reads one.

use serde_json::{Value, json};

use crate::{
    asker::asking,
    person::{Left, Person},
};

const CALL: [&str; 3] = ["call", "@up/book", "{}"];

/// What the server was told.
fn told(left: &Left) -> Value {
    let start = left.out.find('{').unwrap_or_else(|| panic!("{left:?}"));
    let end = left.out.rfind('}').unwrap();
    serde_json::from_str(&left.out[start..=end]).unwrap_or_else(|error| panic!("{error}: {left:?}"))
}

fn seats() -> Value {
    json!({"message": "Which seat?\u{202e}", "requestedSchema": {"type": "object", "required": ["row", "side"], "properties": {
        "row": {"type": "integer", "title": "Row", "minimum": 1, "maximum": 30},
        "side": {"type": "string", "enum": ["w", "a"], "enumNames": ["Window", "Aisle"]},
        "meal": {"type": "boolean", "default": true},
        "note": {"type": "string", "description": "Anything else."}}}})
}

#[test]
fn a_form_says_who_asks_takes_each_field_and_sends_what_was_seen_together() {
    let Some(world) = asking(&seats()) else { return };
    let mut person = Person::at(&world, &CALL);
    person.sees("the server up asks:").sees("Which seat?").sees("row (Row): a whole number");
    person.sees("y answer").presses("y");
    person.sees("row (Row)").sees("  : ").presses("x\r").sees("a whole number is wanted");
    person.presses("\u{7f}99\r");
    person.sees("1  Window (w)").sees("  : ").presses("aisle\r");
    person.sees("meal: yes or no").sees("yes").presses("\u{7f}\u{7f}\u{7f}no\r");
    person.sees("Anything else.").sees("  : ").presses("\r");
    // What the server's own schema refuses is asked again, with what was given.
    person.sees("does not fit").sees("99").presses("\u{7f}\u{7f}12\r");
    person.sees("side").sees("a").presses("\r").sees("meal").sees("no").presses("\r");
    person.sees("note").sees("  : ").presses("\r");
    person.sees("to the server up:").sees("row = 12").sees("y send").presses("y");
    let left = person.leaves();
    assert_eq!((left.code, left.restored), (Some(0), true), "{left:?}");
    assert_eq!(told(&left), json!({"action": "accept", "content": {"row": 12, "side": "a", "meal": false}}));
    assert!(!left.screen.contains('\u{202e}'), "{}", left.screen);
}

#[test]
fn a_no_declines_escape_leaves_it_and_nothing_is_made_up() {
    let Some(world) = asking(&seats()) else { return };
    for (keys, action) in [("n", "decline"), ("\u{1b}", "cancel"), ("\u{3}", "cancel")] {
        let mut person = Person::at(&world, &CALL);
        person.sees("y answer").presses(keys);
        let left = person.leaves();
        assert_eq!(told(&left), json!({"action": action}), "{left:?}");
        assert!(left.restored);
    }
}

#[test]
fn a_question_for_a_secret_is_called_one_and_an_address_is_shown_and_not_opened() {
    let password = json!({"message": "Sign in", "requestedSchema": {"type": "object", "properties": {"api_key": {"type": "string"}}}});
    let Some(world) = asking(&password) else { return };
    let mut person = Person::at(&world, &CALL);
    person.sees("looks like a question for a secret").sees("y answer").presses("n");
    assert_eq!(told(&person.leaves()), json!({"action": "decline"}));

    let url = json!({"mode": "url", "message": "Pay here", "url": "http://pay.example.org/x?y=1", "elicitationId": "1"});
    let Some(world) = asking(&url) else { return };
    let mut person = Person::at(&world, &CALL);
    person
        .sees("not opened here")
        .sees("Its host is pay.example.org, and it is not https")
        .sees("n no")
        .presses("n");
    assert_eq!(told(&person.leaves()), json!({"action": "decline"}));
}

#[test]
fn without_a_person_or_for_a_program_it_is_declined_and_that_is_said() {
    let Some(world) = asking(&seats()) else { return };
    let alone = world.run(&CALL);
    assert!(alone.out.contains("decline") && alone.err.contains("nobody is at a terminal"), "{alone:?}");
    let left = Person::at(&world, &["call", "@up/book", "{}", "--json"]).leaves();
    assert!(left.out.contains("decline") && left.screen.contains("the answer is for a program"), "{left:?}");
    let object = json!({"message": "Deep", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}});
    let Some(world) = asking(&object) else { return };
    let left = Person::at(&world, &CALL).leaves();
    assert!(left.out.contains("decline") && left.screen.contains("cannot be shown as a form"), "{left:?}");
}
