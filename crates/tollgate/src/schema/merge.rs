//! Two schemas that must both hold, written as one: accepts exactly what both accept.

use std::collections::HashSet;

use serde_json::{Map, Number, Value, json};

type Schema = Map<String, Value>;

/// Puts `part` into `whole`, so that `whole` and what is returned mean what both meant. Empty is what one hopes
/// to get back; it is what could not be merged, to be kept beside in `allOf`.
///
/// `part` must not say `unevaluated…`: that would see more after the merge than before.
pub(crate) fn merge(whole: &mut Schema, part: Schema) -> Schema {
    let mut left = Schema::new();
    let (objects, rest): (Schema, Schema) =
        part.into_iter().partition(|(keyword, _)| OBJECTS.contains(&keyword.as_str()));
    if !objects.is_empty() && !merge_objects(whole, &objects) {
        left.extend(objects);
    }
    for group in TOGETHER {
        if clash(whole, &rest, group) {
            left.extend(group.iter().filter_map(|keyword| rest.get_key_value(*keyword)).map(owned));
        }
    }
    for (keyword, theirs) in rest {
        if left.contains_key(&keyword) {
            continue;
        }
        match whole.get_mut(&keyword) {
            None => {
                whole.insert(keyword, theirs);
            }
            Some(ours) if *ours == theirs => {}
            Some(ours) => match both(&keyword, ours, &theirs) {
                Some(merged) => *ours = merged,
                None if accepts_everything(&keyword) => {}
                None => {
                    left.insert(keyword, theirs);
                }
            },
        }
    }
    left
}

const OBJECTS: [&str; 3] = ["properties", "patternProperties", "additionalProperties"];

/// Keywords that read each other, so that they can only be taken over as a whole.
const TOGETHER: [&[&str]; 3] =
    [&["prefixItems", "items"], &["contains", "minContains", "maxContains"], &["if", "then", "else"]];

fn clash(a: &Schema, b: &Schema, group: &[&str]) -> bool {
    let said = |schema: &Schema| group.iter().filter(|keyword| schema.contains_key(**keyword)).count();
    let same = group.iter().all(|keyword| a.get(*keyword) == b.get(*keyword));
    // Alone, the first word of a pair is as good as any: two `items` without places before them can be merged.
    let only_items = ![a, b].iter().any(|schema| schema.contains_key("prefixItems"));
    said(a) > 0 && said(b) > 0 && !same && !(group.contains(&"items") && only_items)
}

fn owned((keyword, value): (&String, &Value)) -> (String, Value) {
    (keyword.clone(), value.clone())
}

/// True for keywords that say something to people only.
pub(crate) fn accepts_everything(keyword: &str) -> bool {
    const NOTES: [&str; 12] = [
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$schema",
        "contentMediaType",
        "contentEncoding",
        "contentSchema",
    ];
    NOTES.contains(&keyword) || !is_known(keyword)
}

fn is_known(keyword: &str) -> bool {
    const ASSERTIONS: [&str; 22] = [
        "type",
        "enum",
        "const",
        "required",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependencies",
    ];
    use super::dialect::{Dialect, Holds};
    let holds = Dialect::Draft2020.holds(keyword);
    ASSERTIONS.contains(&keyword) || matches!(holds, Holds::Schema | Holds::List | Holds::Map)
}

/// One keyword that means what both values meant together.
fn both(keyword: &str, a: &Value, b: &Value) -> Option<Value> {
    match keyword {
        "type" => Some(common_types(a, b)).filter(|types| *types != json!([])),
        "enum" => {
            let (a, b) = (a.as_array()?, b.as_array()?);
            // 1 and 1.0 are the same value and written differently: only plain values are compared here.
            let plain =
                a.iter().chain(b).all(|value| value.is_i64() || !(value.is_number() || has_parts(value)));
            let theirs: HashSet<String> = b.iter().map(ToString::to_string).collect();
            let common: Vec<_> =
                a.iter().filter(|value| theirs.contains(&value.to_string())).cloned().collect();
            (plain && !common.is_empty()).then_some(Value::Array(common))
        }
        "required" => {
            let (a, b) = (a.as_array()?, b.as_array()?);
            let known: HashSet<&str> = a.iter().filter_map(Value::as_str).collect();
            let fresh = b.iter().filter(|name| name.as_str().is_some_and(|name| !known.contains(name)));
            Some(Value::Array(a.iter().chain(fresh).cloned().collect()))
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            larger(a, b).map(Value::Number)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            let larger = larger(a, b)?;
            Some(if a.as_number() == Some(&larger) { b.clone() } else { a.clone() })
        }
        "uniqueItems" => Some(json!(a == &json!(true) || b == &json!(true))),
        "items" | "propertyNames" => Some(json!({"allOf": [a, b]})),
        _ => None,
    }
}

fn has_parts(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn larger(a: &Value, b: &Value) -> Option<Number> {
    let (a, b) = (a.as_number()?, b.as_number()?);
    // Whole numbers are compared as such: as floats, large ones would look alike.
    let first = match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a >= b,
        _ => a.as_f64()? >= b.as_f64()?,
    };
    Some(if first { a.clone() } else { b.clone() })
}

fn common_types(a: &Value, b: &Value) -> Value {
    let (a, b) = (type_names(a), type_names(b));
    let fits = |name: &&str, others: &[&str]| {
        others.contains(name) || (*name == "integer" && others.contains(&"number"))
    };
    let mut common: Vec<&str> = a.iter().filter(|name| fits(name, &b)).copied().collect();
    common.extend(b.iter().filter(|name| !a.contains(name) && fits(name, &a)));
    match common.as_slice() {
        [one] => json!(one),
        several => json!(several),
    }
}

/// The names in a `type`, which is one name or a list of them.
pub(crate) fn type_names(value: &Value) -> Vec<&str> {
    match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Merges what is said about properties, unless that would say something else. Whatever one side says of a name
/// the other does not know, it says by `additionalProperties`.
fn merge_objects(whole: &mut Schema, part: &Schema) -> bool {
    if !OBJECTS.iter().any(|keyword| whole.contains_key(*keyword)) {
        whole.extend(part.clone());
        return true;
    }
    let patterns = whole.contains_key("patternProperties") || part.contains_key("patternProperties");
    let open =
        |schema: &Schema| !matches!(schema.get("additionalProperties"), Some(rest) if *rest != json!(true));
    if patterns && !(open(whole) && open(part)) {
        return false;
    }
    let (Some(ours), Some(theirs)) = (Sides::of(whole), Sides::of(part)) else { return false };
    let mut merged = Schema::new();
    let names = ours.named.keys().chain(theirs.named.keys().filter(|name| !ours.named.contains_key(*name)));
    for name in names {
        let view = match (ours.says(name), theirs.says(name)) {
            (View::Nothing, _) | (_, View::Nothing) => continue,
            (View::Schema(a), View::Schema(b)) if a == b => a.clone(),
            (View::Schema(a), View::Schema(b)) => json!({"allOf": [a, b]}),
            (View::Schema(one), View::Anything) | (View::Anything, View::Schema(one)) => one.clone(),
            (View::Anything, View::Anything) => json!(true),
        };
        merged.insert(name.clone(), view);
    }
    let closed = ours.closed || theirs.closed;
    if whole.contains_key("properties") || part.contains_key("properties") {
        whole.insert("properties".to_owned(), Value::Object(merged));
    }
    if closed {
        whole.insert("additionalProperties".to_owned(), json!(false));
    } else if let Some(rest) = part.get("additionalProperties") {
        whole.entry("additionalProperties").or_insert_with(|| rest.clone());
    }
    if let Some(Value::Object(theirs)) = part.get("patternProperties") {
        let ours = whole.entry("patternProperties").or_insert_with(|| json!({}));
        let Value::Object(ours) = ours else { return true };
        for (pattern, schema) in theirs {
            match ours.get_mut(pattern) {
                Some(other) if other == schema => {}
                Some(other) => *other = json!({"allOf": [other.take(), schema]}),
                None => {
                    ours.insert(pattern.clone(), schema.clone());
                }
            }
        }
    }
    true
}

/// What one schema says about properties.
struct Sides<'a> {
    named: &'a Schema,
    closed: bool,
}

enum View<'a> {
    Anything,
    Nothing,
    Schema(&'a Value),
}

impl<'a> Sides<'a> {
    /// `None` where other properties have a schema of their own: it would have to be copied to every name.
    fn of(schema: &'a Schema) -> Option<Self> {
        static NONE: std::sync::LazyLock<Schema> = std::sync::LazyLock::new(Schema::new);
        let named = match schema.get("properties") {
            Some(Value::Object(named)) => named,
            Some(_) => return None,
            None => &NONE,
        };
        match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Some(Self { named, closed: false }),
            Some(Value::Bool(false)) => Some(Self { named, closed: true }),
            Some(_) => None,
        }
    }

    fn says(&self, name: &str) -> View<'a> {
        match self.named.get(name) {
            Some(schema) => View::Schema(schema),
            None if self.closed => View::Nothing,
            None => View::Anything,
        }
    }
}
