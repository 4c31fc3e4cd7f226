//! Characters a model reads and a person does not see.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Finding, Subject, subject::some_of};

pub(super) fn hidden_characters(subject: Subject<'_>) -> Option<Finding> {
    let mut places = Vec::new();
    hidden_in("the description", &subject.spec.description, &mut places);
    hidden_in_value("the schema", &subject.spec.input_schema, &mut places);
    if places.is_empty() {
        return None;
    }
    let message = format!("characters nobody sees in {}", some_of(&places));
    subject.warns("hidden_characters", message, "take them out: a model reads what a person cannot.")
}

fn hidden_in(place: &str, text: &str, places: &mut Vec<String>) {
    if let Some(c) = text.chars().find(|c| is_hidden(*c)) {
        places.push(format!("{place} (U+{:04X})", u32::from(c)));
    }
}

fn hidden_in_value(place: &str, value: &Value, places: &mut Vec<String>) {
    match value {
        Value::String(text) => hidden_in(place, text, places),
        Value::Array(items) => items.iter().for_each(|item| hidden_in_value(place, item, places)),
        Value::Object(map) => {
            for (key, value) in map {
                hidden_in(place, key, places);
                let mut inner = place.to_owned();
                let shown = key.chars().filter(|c| !is_hidden(*c)).take(40).collect::<String>();
                let _ = write!(inner, "/{shown}");
                hidden_in_value(&inner, value, places);
            }
        }
        _ => {}
    }
}

/// Zero-width and bidirectional marks, the tags block, variation selectors beyond the usual, control characters.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
        || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}
