//! Where a schema is silent about further fields, it means none: a mistyped field is an error, not a no-op.

use serde_json::{Map, Value, json};

use super::{dialect::Dialect, flatten::flatten, formats::is_checked, modern::modern, walk::each_child_mut};

/// A schema that is closed wherever it names properties and says nothing of others.
pub(crate) struct Closed {
    pub(crate) schema: Value,
    pub(crate) formats: Formats,
}

/// Whether formats are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formats {
    /// As the draft says.
    AsDraft,
    /// Whatever the draft says.
    Checked,
}

/// The same schema, closed.
///
/// A position is closed, not a schema: the branches of `allOf` and the targets of references speak of the same
/// object together, so only the place where they come together can say what is left over. A nested object
/// without `properties` is a free map and stays one.
pub(crate) fn closed(schema: &Value) -> Closed {
    let (mut schema, formats) = match renewed(schema) {
        Some(renewed) => (renewed, Formats::Checked),
        None => (schema.clone(), Formats::AsDraft),
    };
    let old = Dialect::named(&schema).is_some_and(|named| named.is_ok_and(Dialect::ref_stands_alone));
    if let Value::Object(root) = &mut schema {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    close_position(&mut schema, old);
    Closed { schema, formats }
}

/// A schema of draft 7 in the words of 2020-12, where it needs them to be closed: the old draft has no
/// `unevaluatedProperties`. `None` where that would change what it means, or where it refers to itself.
fn renewed(schema: &Value) -> Option<Value> {
    if Dialect::named(schema)? != Ok(Dialect::Draft7) || !composes_anywhere(schema) {
        return None;
    }
    let mut renewed = modern(flatten(schema).ok()?, Dialect::Draft7);
    forget_unchecked_formats(&mut renewed)?;
    Some(renewed)
}

/// True when a keyword that composes stands anywhere, or a word that only looks like one.
fn composes_anywhere(schema: &Value) -> bool {
    let composes = |key: &str| key == "$ref" || IN_PLACE_LISTS.contains(&key) || IN_PLACE.contains(&key);
    let mut stack = vec![schema];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(map) if map.keys().any(|key| composes(key)) => return true,
            Value::Object(map) => stack.extend(map.values()),
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    false
}

/// Drops formats that only newer drafts check. `None` where there is an encoding, which only the old one checks.
fn forget_unchecked_formats(schema: &mut Value) -> Option<()> {
    let Value::Object(map) = schema else { return Some(()) };
    if map.contains_key("contentEncoding") || map.contains_key("contentMediaType") {
        return None;
    }
    if map
        .get("format")
        .is_some_and(|format| !format.as_str().is_some_and(|name| is_checked(Dialect::Draft7, name)))
    {
        map.shift_remove("format");
    }
    let mut all = Some(());
    each_child_mut(map, Dialect::Draft2020, &mut |child| {
        all = all.and_then(|()| forget_unchecked_formats(child));
    });
    all
}

const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE: [&str; 4] = ["if", "then", "else", "not"];
const IN_PLACE_MAPS: [&str; 1] = ["dependentSchemas"];
const CHILDREN: [&str; 5] =
    ["items", "additionalItems", "additionalProperties", "contains", "unevaluatedItems"];
const CHILD_LISTS: [&str; 2] = ["prefixItems", "items"];
const CHILD_MAPS: [&str; 2] = ["properties", "patternProperties"];
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Closes a schema that stands at a place of its own in the value.
fn close_position(schema: &mut Value, old: bool) {
    close_below(schema, old);
    let Value::Object(map) = schema else { return };
    // One pass over the keys: looking up a dozen words one by one costs more than all the rest.
    let (mut named, mut composed) = (false, false);
    for key in map.keys() {
        match key.as_str() {
            "additionalProperties" | "unevaluatedProperties" => return,
            "properties" => named = true,
            "allOf" | "anyOf" | "oneOf" | "if" | "then" | "else" | "not" | "dependentSchemas" | "$ref" => {
                composed = true;
            }
            _ => {}
        }
    }
    if !composed {
        if named {
            map.insert("additionalProperties".into(), Value::Bool(false));
        }
    } else if !old && (named || composes_objects(map)) {
        map.insert("unevaluatedProperties".into(), Value::Bool(false));
    }
}

/// True when a part of the composition names properties, or may do so behind a reference.
fn composes_objects(map: &Map<String, Value>) -> bool {
    let lists = IN_PLACE_LISTS.iter().filter_map(|key| map.get(*key)?.as_array()).flatten();
    map.contains_key("$ref")
        || lists.chain(map.get("then")).chain(map.get("else")).any(|part| {
            part.as_object().is_some_and(|part| part.contains_key("properties") || composes_objects(part))
        })
}

/// Closes what lies below a schema, but not the schema itself.
fn close_below(schema: &mut Value, old: bool) {
    let Value::Object(map) = schema else { return };
    for (key, value) in map.iter_mut() {
        let key = key.as_str();
        match value {
            Value::Object(entries) if CHILD_MAPS.contains(&key) => {
                entries.values_mut().for_each(|child| close_position(child, old));
            }
            Value::Object(entries) if DEFINITIONS.contains(&key) || IN_PLACE_MAPS.contains(&key) => {
                entries.values_mut().for_each(|part| close_below(part, old));
            }
            Value::Array(items) if CHILD_LISTS.contains(&key) => {
                items.iter_mut().for_each(|child| close_position(child, old));
            }
            Value::Array(items) if IN_PLACE_LISTS.contains(&key) => {
                items.iter_mut().for_each(|part| close_below(part, old));
            }
            child if CHILDREN.contains(&key) => close_position(child, old),
            part if IN_PLACE.contains(&key) => close_below(part, old),
            _ => {}
        }
    }
}
