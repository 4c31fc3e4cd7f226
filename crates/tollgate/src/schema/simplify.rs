//! A schema with as few combinators as it can be said with. Accepts exactly what it accepted before.

use serde_json::{Map, Value};

use super::{dialect::Dialect, merge::merge, walk::each_child_mut};

/// Merges what `allOf` says into the schema around it, here and everywhere below. Expects a schema of 2020-12
/// without references.
pub(crate) fn simplify(schema: &mut Value) {
    fold(schema);
    if let Value::Object(map) = schema {
        each_child_mut(map, Dialect::Draft2020, &mut simplify);
    }
}

/// The most parts that are merged into one schema.
const MOST: usize = 500;

/// Merges what applies to the same value; leaves alone what lies below.
pub(crate) fn fold(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    let mut parts = match map.shift_remove("allOf") {
        Some(Value::Array(parts)) => parts,
        Some(broken) => vec![broken],
        None => Vec::new(),
    };
    // One alternative is none.
    for keyword in ["anyOf", "oneOf"] {
        if map.get(keyword).and_then(Value::as_array).is_some_and(|forms| forms.len() == 1)
            && let Some(Value::Array(form)) = map.shift_remove(keyword)
        {
            parts.extend(form);
        }
    }
    // Each merge looks at the whole again, so a schema of very many parts keeps most of them.
    let mut left = parts.split_off(parts.len().min(MOST));
    for mut part in parts {
        fold(&mut part);
        match part {
            Value::Bool(true) => {}
            Value::Object(part) if part.keys().any(|keyword| keyword.starts_with("unevaluated")) => {
                left.push(Value::Object(part));
            }
            Value::Object(mut part) => {
                if let Some(Value::Array(inner)) = part.shift_remove("allOf") {
                    left.extend(inner);
                }
                let rest = merge(map, part);
                if !rest.is_empty() {
                    left.push(Value::Object(rest));
                }
            }
            other => left.push(other),
        }
    }
    if !left.is_empty() {
        map.insert("allOf".to_owned(), Value::Array(left));
    }
    settle_unevaluated(map);
}

/// Keywords after which it is open what has been evaluated.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies", "$ref"];

/// Where nothing else applies to the same value, `unevaluatedProperties` says what `additionalProperties` says.
fn settle_unevaluated(map: &mut Map<String, Value>) {
    if IN_PLACE.iter().any(|keyword| map.contains_key(*keyword)) {
        return;
    }
    rename(map, "unevaluatedProperties", "additionalProperties");
    if !map.contains_key("contains") {
        rename(map, "unevaluatedItems", "items");
    }
}

/// Beside the plain keyword, which evaluates everything, the other one has nothing left to say.
fn rename(map: &mut Map<String, Value>, unevaluated: &str, plain: &str) {
    if let Some(schema) = map.shift_remove(unevaluated) {
        map.entry(plain).or_insert(schema);
    }
}
