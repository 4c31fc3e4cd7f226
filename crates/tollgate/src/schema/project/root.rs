//! The root of a schema as providers take it: one object with named fields, alternatives told in words.

use std::{collections::HashSet, fmt::Write as _};

use serde_json::{Map, Value, json};

use super::{
    report::Report,
    words::{form, remark, words},
};
use crate::schema::simplify::fold;

type Schema = Map<String, Value>;

/// Makes the root an object without combinators. Whatever the original accepts still fits.
pub(super) fn plain_root(mut root: Schema, report: &mut Report) -> Schema {
    if root.get("type") != Some(&json!("object")) {
        if root.contains_key("type") {
            report.rewrote("", "type", "arguments are always an object");
        }
        root.shift_remove("type");
    }
    root.shift_insert(0, "type".to_owned(), json!("object"));
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".to_owned(), json!({}));
    }
    alternatives(&mut root, report);
    for keyword in ["allOf", "if", "dependentSchemas"] {
        if let Some(parts) = root.get(keyword).cloned() {
            let parts = match keyword {
                "if" => {
                    ["if", "then", "else"].iter().filter_map(|keyword| root.get(*keyword).cloned()).collect()
                }
                "allOf" => parts.as_array().cloned().unwrap_or_default(),
                _ => parts.as_object().map(|parts| parts.values().cloned().collect()).unwrap_or_default(),
            };
            take_fields(&mut root, &parts);
        }
    }
    for keyword in ["allOf", "not", "enum", "const"] {
        if let Some(value) = root.shift_remove(keyword) {
            remark(&mut root, &words(keyword, &value));
            report.moved("", keyword);
        }
    }
    condition(&mut root, report);
    root
}

/// `anyOf` and `oneOf` become one object with the fields of all, and a remark on what goes together.
fn alternatives(root: &mut Schema, report: &mut Report) {
    for (keyword, opening) in
        [("anyOf", "one of these forms, or several"), ("oneOf", "exactly one of these forms")]
    {
        let Some(Value::Array(mut branches)) = root.shift_remove(keyword) else { continue };
        branches.iter_mut().for_each(fold);
        // A branch that nothing fits is none.
        branches.retain(|branch| *branch != json!(false));
        take_fields(root, &branches);
        require_common(root, &branches);
        let forms: Vec<String> = branches.iter().map(form).collect();
        remark(root, &format!("{opening}: {}", forms.join("; ")));
        report.rewrote(
            "",
            keyword,
            "written as one object with the fields of all forms, which the description tells apart",
        );
    }
}

/// Fields that only a part of the schema names, so that the model knows of them. Where parts differ, each may be
/// meant.
fn take_fields(root: &mut Schema, parts: &[Value]) {
    // What the root refuses by itself no part can allow.
    let closed = root.get("additionalProperties").is_some_and(|rest| *rest != json!(true));
    // Where any field may be anything, a part that does not apply does not bind it either.
    let anything = leaves_open(root) || parts.iter().filter_map(Value::as_object).any(leaves_open);
    let mut found = Schema::new();
    parts.iter().filter_map(Value::as_object).for_each(|part| collect(part, &mut found));
    let Some(Value::Object(fields)) = root.get_mut("properties") else { return };
    for (name, variants) in found {
        if closed || fields.contains_key(&name) {
            continue;
        }
        let schema = match variants {
            Value::Array(mut variants) if !anything && variants.len() == 1 => variants.swap_remove(0),
            Value::Array(variants) if !anything && variants.len() <= VARIANTS => json!({"anyOf": variants}),
            _ => json!({}),
        };
        fields.insert(name, schema);
    }
}

/// The most forms of one field that are told apart.
const VARIANTS: usize = 50;

/// Every field a part names, with the different schemas it has there.
fn collect(part: &Schema, found: &mut Schema) {
    for (name, schema) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Value::Array(variants) = found.entry(name).or_insert_with(|| json!([]))
            && variants.len() <= VARIANTS
            && !variants.contains(schema)
        {
            variants.push(schema.clone());
        }
    }
    in_place(part).for_each(|inner| collect(inner, found));
}

/// True when a schema speaks of fields that it does not name.
fn leaves_open(schema: &Schema) -> bool {
    let opens = |keyword: &str| schema.get(keyword).is_some_and(|rest| *rest != json!(false));
    ["additionalProperties", "unevaluatedProperties", "patternProperties"].into_iter().any(opens)
        || in_place(schema).any(leaves_open)
}

/// The parts of a schema that speak of the same value.
fn in_place(schema: &Schema) -> impl Iterator<Item = &Schema> {
    let lists = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_array())
        .flatten();
    let singles = ["if", "then", "else"].into_iter().filter_map(|keyword| schema.get(keyword));
    lists.chain(singles).filter_map(Value::as_object)
}

/// What every form requires is required.
fn require_common(root: &mut Schema, branches: &[Value]) {
    let names = |schema: &Value| -> Vec<String> {
        let list = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let Some((first, others)) = branches.split_first() else { return };
    let mut common = names(first);
    for other in others {
        let other: HashSet<String> = names(other).into_iter().collect();
        common.retain(|name| other.contains(name));
    }
    if common.is_empty() {
        return;
    }
    let required = root.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        let known: HashSet<String> =
            required.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        required.extend(common.into_iter().filter(|name| !known.contains(name)).map(Value::String));
    }
}

fn condition(root: &mut Schema, report: &mut Report) {
    let [condition, then, other] = ["if", "then", "else"].map(|keyword| root.shift_remove(keyword));
    let Some(condition) = condition else { return };
    let mut told = format!("if it fits {}", words("", &condition).trim_start());
    for (branch, opening) in [(then, "then it must fit"), (other, "else it must fit")] {
        if let Some(branch) = branch {
            let _ = write!(told, ", {opening}{}", words("", &branch));
        }
    }
    remark(root, &told);
    report.moved("", "if");
}
