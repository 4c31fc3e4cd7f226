//! A schema as guidance: legal for the provider, and otherwise as near to the original as can be.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    Inverse, Provider,
    inverse::{Field, Step},
    keys::wire_names,
    report::Report,
    root::plain_root,
};
use crate::schema::{
    dialect::Dialect,
    merge::type_names,
    walk::{each_child_mut, escaped},
};

type Schema = Map<String, Value>;

/// Makes a schema legal for the provider.
pub(super) fn loose(schema: Schema, provider: Provider, report: &mut Report) -> (Value, Inverse) {
    let mut schema = Value::Object(plain_root(schema, report));
    let names = if provider == Provider::Anthropic { wire_names(&schema) } else { BTreeMap::new() };
    legalise(&mut schema, provider, report);
    if names.is_empty() {
        return (schema, Inverse::default());
    }
    let mut step = rename(&mut schema, &names, "", report);
    step.prune();
    (schema, Inverse::new(step))
}

/// What providers want to see in every schema.
fn legalise(schema: &mut Value, provider: Provider, report: &mut Report) {
    let Value::Object(map) = schema else { return };
    for keyword in ["$comment", "$vocabulary"] {
        if map.shift_remove(keyword).is_some() {
            report.dropped("", keyword, "it is a note for readers of the schema");
        }
    }
    if let Some(Value::Object(fields)) = map.get_mut("properties") {
        // A field that may be anything, in the form every reader of schemas expects.
        fields.values_mut().filter(|field| **field == json!(true)).for_each(|field| *field = json!({}));
    }
    let types = map.get("type").map(type_names).unwrap_or_default();
    let (object, array) = (types.contains(&"object"), types.contains(&"array"));
    if provider.is_openai() && object && !map.contains_key("properties") {
        map.insert("properties".to_owned(), json!({}));
    }
    if provider.is_openai() && array && !map.contains_key("items") {
        map.insert("items".to_owned(), json!({}));
    }
    each_child_mut(map, Dialect::Draft2020, &mut |child| legalise(child, provider, report));
}

/// Gives fields with illegal names legal ones, and says how to go back.
fn rename(schema: &mut Value, names: &BTreeMap<String, String>, at: &str, report: &mut Report) -> Step {
    let mut step = Step::default();
    let Value::Object(map) = schema else { return step };
    let wire = |name: &str| names.get(name).cloned().unwrap_or_else(|| name.to_owned());
    for (keyword, value) in map.iter_mut() {
        let place = format!("{at}/{keyword}");
        match (keyword.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut field)| {
                        let place = format!("{place}/{}", escaped(&name));
                        let inside = rename(&mut field, names, &place, report);
                        let to = wire(&name);
                        if to != name {
                            report.rewrote(
                                &place,
                                "properties",
                                format!("called {to:?}, since {name:?} is no legal name"),
                            );
                        }
                        let renamed_from = (to != name).then_some(name);
                        step.field(to.clone(), Field { renamed_from, inside, ..Field::default() });
                        (to, field)
                    })
                    .collect();
            }
            ("required", Value::Array(list)) => rename_all(list, &wire),
            ("dependentRequired", Value::Object(needs)) => {
                *needs = std::mem::take(needs)
                    .into_iter()
                    .map(|(name, mut list)| {
                        list.as_array_mut().into_iter().for_each(|list| rename_all(list, &wire));
                        (wire(&name), list)
                    })
                    .collect();
            }
            ("dependentSchemas", Value::Object(parts)) => {
                *parts = std::mem::take(parts)
                    .into_iter()
                    .map(|(name, mut part)| {
                        let inner = rename(&mut part, names, &place, report);
                        join(&mut step, inner);
                        (wire(&name), part)
                    })
                    .collect();
            }
            ("items", items) => step.items(rename(items, names, &place, report)),
            ("prefixItems", Value::Array(places)) => {
                step.places(places.iter_mut().map(|item| rename(item, names, &place, report)).collect());
            }
            ("additionalProperties", rest) => step.rest(rename(rest, names, &place, report)),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                for (number, part) in parts.iter_mut().enumerate() {
                    let inner = rename(part, names, &format!("{place}/{number}"), report);
                    join(&mut step, inner);
                }
            }
            ("not" | "if" | "then" | "else", part) => {
                let inner = rename(part, names, &place, report);
                join(&mut step, inner);
            }
            _ => {}
        }
    }
    step
}

fn rename_all(list: &mut [Value], wire: &dyn Fn(&str) -> String) {
    for name in list {
        if let Value::String(text) = name {
            *text = wire(text);
        }
    }
}

/// Here no field means anything by a null and a name is renamed alike everywhere, so forms never disagree.
fn join(step: &mut Step, inner: Step) {
    let _ = step.join(inner);
}
