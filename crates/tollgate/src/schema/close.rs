//! Where a schema is silent about further fields, it means none: a mistyped field is an error, not a no-op.

use serde_json::{Map, Value, json};

/// The same schema, closed wherever it names properties and says nothing of others.
///
/// A position is closed, not a schema: the branches of `allOf` and the targets of references speak of the same
/// object together, so only the place where they come together can say what is left over. A nested object
/// without `properties` is a free map and stays one.
pub(crate) fn closed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let old = schema.get("$schema").and_then(Value::as_str).is_some_and(is_old);
    if let Value::Object(root) = &mut schema {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    close_position(&mut schema, old);
    schema
}

/// Drafts without `unevaluatedProperties`, in which siblings of `$ref` are ignored.
fn is_old(dialect: &str) -> bool {
    ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|draft| dialect.contains(draft))
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
    if map.contains_key("additionalProperties") || map.contains_key("unevaluatedProperties") {
        return;
    }
    let composed =
        IN_PLACE_LISTS.iter().chain(&IN_PLACE).chain(&IN_PLACE_MAPS).any(|key| map.contains_key(*key))
            || map.contains_key("$ref");
    if !composed {
        if map.contains_key("properties") {
            map.insert("additionalProperties".into(), Value::Bool(false));
        }
    } else if !old && (map.contains_key("properties") || composes_objects(map)) {
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
