//! A schema that refers to itself without looking at a smaller value would never come to an end.

use std::collections::HashSet;

use serde_json::Value;

use super::flatten::percent_decoded;

/// Keywords that apply a schema to the same value.
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];

/// The reference that leads back to itself on the same value, where there is one.
pub(crate) fn endless_reference(root: &Value) -> Option<String> {
    if !refers(root) {
        return None;
    }
    let mut done = HashSet::new();
    let mut stack = vec![root];
    // Every subschema is a possible start: one that is never reached costs nothing to refuse.
    while let Some(schema) = stack.pop() {
        if let Some(found) = follow(root, schema, &mut Vec::new(), &mut done) {
            return Some(found);
        }
        match schema {
            Value::Object(map) => stack.extend(map.values()),
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    None
}

/// True when there is a reference at all, which most schemas have not.
fn refers(root: &Value) -> bool {
    let mut stack = vec![root];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(map) if map.keys().any(|key| key == "$ref") => return true,
            Value::Object(map) => stack.extend(map.values()),
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    false
}

fn follow<'a>(
    root: &'a Value,
    schema: &'a Value,
    path: &mut Vec<&'a str>,
    done: &mut HashSet<&'a str>,
) -> Option<String> {
    let map = schema.as_object()?;
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        if path.contains(&reference) {
            return Some(reference.to_owned());
        }
        if !done.contains(reference) {
            path.push(reference);
            if let Some(target) = local(root, reference)
                && let Some(found) = follow(root, target, path, done)
            {
                return Some(found);
            }
            path.pop();
            done.insert(reference);
        }
    }
    let lists = IN_PLACE_LISTS.iter().filter_map(|key| map.get(*key)?.as_array()).flatten();
    let singles = IN_PLACE.iter().filter_map(|key| map.get(*key));
    lists.chain(singles).find_map(|inner| follow(root, inner, path, done))
}

/// The target of a reference within the document, by JSON pointer.
fn local<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(&percent_decoded(pointer))
}
