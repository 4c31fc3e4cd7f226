//! The schemas directly inside a schema, visited in order.

use serde_json::{Map, Value};

use super::dialect::{Dialect, Holds};

/// Shows every schema directly inside this one, with the pointer that leads from here to it.
pub(crate) fn each_child<'a>(
    schema: &'a Map<String, Value>,
    dialect: Dialect,
    visit: &mut dyn FnMut(String, &'a Value),
) {
    for (keyword, value) in schema {
        match (dialect.holds(keyword), value) {
            (Holds::Schema | Holds::List, Value::Array(items)) => {
                items.iter().enumerate().for_each(|(at, item)| visit(format!("/{keyword}/{at}"), item));
            }
            (Holds::Schema, child) => visit(format!("/{keyword}"), child),
            (Holds::Map | Holds::Definitions, Value::Object(entries)) => {
                entries
                    .iter()
                    .for_each(|(name, child)| visit(format!("/{keyword}/{}", escaped(name)), child));
            }
            _ => {}
        }
    }
}

/// Changes every schema directly inside this one.
pub(crate) fn each_child_mut(
    schema: &mut Map<String, Value>,
    dialect: Dialect,
    change: &mut dyn FnMut(&mut Value),
) {
    for (keyword, value) in schema {
        match (dialect.holds(keyword), value) {
            (Holds::Schema | Holds::List, Value::Array(items)) => items.iter_mut().for_each(&mut *change),
            (Holds::Schema, child) => change(child),
            (Holds::Map | Holds::Definitions, Value::Object(entries)) => {
                entries.values_mut().for_each(&mut *change);
            }
            _ => {}
        }
    }
}

/// A name as a JSON pointer writes it. These pointers are for people, so a very long name is cut: otherwise every
/// pointer to something below it would carry it along.
pub(crate) fn escaped(name: &str) -> String {
    crate::json::shorten(name, 100).replace('~', "~0").replace('/', "~1")
}
