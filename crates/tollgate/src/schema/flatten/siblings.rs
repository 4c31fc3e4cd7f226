//! A reference's target and what stands beside it, as one schema that means both.

use serde_json::{Map, Value};

/// Keywords that accept everything: of two, the one beside the reference is nearer to the use and wins.
const NOTES: [&str; 9] = [
    "$schema",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Keywords that change what another one beside them means.
const TOGETHER: [&[&str]; 3] = [
    &["properties", "patternProperties", "additionalProperties"],
    &["items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains"],
    &["if", "then", "else"],
];

/// The schema that means `siblings` and `target` together. The target takes the place `at` which the reference
/// had among its siblings.
pub(super) fn combined(siblings: Vec<(String, Value)>, at: usize, target: Value) -> Value {
    if siblings.is_empty() {
        return target;
    }
    match target {
        Value::Bool(true) => Value::Object(siblings.into_iter().collect()),
        Value::Object(map) if can_stand_together(&siblings, &map) => merged(siblings, at, map),
        target => beside(siblings, at, target),
    }
}

/// Both in one object.
fn merged(siblings: Vec<(String, Value)>, at: usize, target: Map<String, Value>) -> Value {
    let own: Vec<String> = siblings.iter().map(|(key, _)| key.clone()).collect();
    let mut all = siblings;
    let fresh: Vec<_> = target.into_iter().filter(|(key, _)| !own.contains(key)).collect();
    all.splice(at..at, fresh);
    Value::Object(all.into_iter().collect())
}

/// `allOf` is what `$ref` is: it applies to the same value and hands on what it has evaluated, so that
/// `unevaluatedProperties` beside it sees the same.
fn beside(mut siblings: Vec<(String, Value)>, at: usize, target: Value) -> Value {
    match siblings.iter_mut().find(|(key, _)| key == "allOf") {
        Some((_, Value::Array(parts))) => parts.insert(0, target),
        Some((_, broken)) => *broken = Value::Array(vec![target, broken.take()]),
        None => siblings.insert(at, ("allOf".to_owned(), Value::Array(vec![target]))),
    }
    Value::Object(siblings.into_iter().collect())
}

fn can_stand_together(siblings: &[(String, Value)], target: &Map<String, Value>) -> bool {
    let notes_only = siblings.iter().all(|(key, _)| is_note(key));
    // An `unevaluated…` of the target must not see what stands beside the reference.
    let looks_around = target.keys().any(|key| key.starts_with("unevaluated"));
    let clash = siblings.iter().any(|(key, _)| !is_note(key) && clashes(key, target));
    notes_only || !(looks_around || clash)
}

fn is_note(keyword: &str) -> bool {
    NOTES.contains(&keyword)
}

fn clashes(keyword: &str, target: &Map<String, Value>) -> bool {
    target.contains_key(keyword)
        || TOGETHER
            .iter()
            .any(|group| group.contains(&keyword) && group.iter().any(|other| target.contains_key(*other)))
}
