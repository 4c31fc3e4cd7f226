//! A schema of an older draft in the words of 2020-12: accepts the same, but for what `format` means.

use serde_json::{Map, Value};

use super::{dialect::Dialect, walk::each_child_mut};

/// The same schema in the words of 2020-12, without `$schema`. Expects a schema without references.
///
/// Older drafts check formats and newer ones do not: whoever needs that has to remember the dialect.
pub(crate) fn modern(mut schema: Value, dialect: Dialect) -> Value {
    if let Value::Object(map) = &mut schema {
        map.shift_remove("$schema");
    }
    modernise(&mut schema, dialect);
    schema
}

fn modernise(schema: &mut Value, dialect: Dialect) {
    let Value::Object(map) = schema else { return };
    each_child_mut(map, dialect, &mut |child| modernise(child, dialect));
    // What a draft does not know has no meaning in it, whatever later drafts made of the word.
    map.retain(|keyword, _| since(keyword) <= dialect || keyword == "examples");
    if dialect == Dialect::Draft4 {
        exclusive_bound(map, "minimum", "exclusiveMinimum");
        exclusive_bound(map, "maximum", "exclusiveMaximum");
    }
    if dialect < Dialect::Draft2020 {
        tuple(map);
    }
    dependencies(map);
}

/// The draft that gave a keyword its meaning.
fn since(keyword: &str) -> Dialect {
    match keyword {
        "const" | "contains" | "propertyNames" | "examples" => Dialect::Draft6,
        "if" | "then" | "else" => Dialect::Draft7,
        "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "minContains"
        | "maxContains" => Dialect::Draft2019,
        "prefixItems" => Dialect::Draft2020,
        _ => Dialect::Draft4,
    }
}

/// In draft 4 `exclusiveMinimum` is a switch on `minimum`.
fn exclusive_bound(map: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    if let Some(Value::Bool(on)) = map.get(exclusive).cloned() {
        map.shift_remove(exclusive);
        if on && let Some(limit) = map.shift_remove(bound) {
            map.insert(exclusive.to_owned(), limit);
        }
    }
}

/// A list in `items` is called `prefixItems` now, and `additionalItems` beside it is `items`.
fn tuple(map: &mut Map<String, Value>) {
    let rest = map.shift_remove("additionalItems");
    if !matches!(map.get("items"), Some(Value::Array(_))) {
        return;
    }
    if let Some(places) = map.shift_remove("items").filter(|places| *places != Value::Array(Vec::new())) {
        map.insert("prefixItems".to_owned(), places);
    }
    if let Some(rest) = rest {
        map.insert("items".to_owned(), rest);
    }
}

/// `dependencies` is two keywords now.
fn dependencies(map: &mut Map<String, Value>) {
    let Some(Value::Object(all)) = map.get("dependencies") else { return };
    // Never both in one schema that was written by hand: then it stays as it is, validators know it still.
    if map.contains_key("dependentRequired") || map.contains_key("dependentSchemas") {
        return;
    }
    let (required, schemas): (Map<_, _>, Map<_, _>) =
        all.clone().into_iter().partition(|(_, needs)| needs.is_array());
    map.shift_remove("dependencies");
    for (keyword, part) in [("dependentRequired", required), ("dependentSchemas", schemas)] {
        if !part.is_empty() {
            map.insert(keyword.to_owned(), Value::Object(part));
        }
    }
}
