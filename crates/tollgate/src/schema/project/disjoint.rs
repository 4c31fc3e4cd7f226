//! A proof that no value fits two schemas. Finding none proves nothing.

use serde_json::{Map, Value, json};

use super::numbers::Judge;
use crate::schema::{dialect::Dialect, merge::type_names};

type Schema = Map<String, Value>;

/// True when certainly no value fits both: `strict`, in the words strict modes know, and any other schema.
pub(super) fn disjoint(strict: &Schema, other: &Value) -> bool {
    let other = match other {
        Value::Bool(accepts) => return !accepts,
        Value::Object(other) => other,
        _ => return false,
    };
    if let Some(Value::Array(forms)) = strict.get("anyOf") {
        return forms.iter().all(|form| form.as_object().is_some_and(|form| disjoint(form, &json!(other))));
    }
    by_values(strict, other) || by_type_or_fields(strict, other) || by_parts(strict, other)
}

/// One side lists its values, and none of them fits the other.
fn by_values(a: &Schema, b: &Schema) -> bool {
    let refused = |listed: Option<Vec<&Value>>, by: &Schema| {
        listed.is_some_and(|values| {
            let judge = Judge::new(by, Dialect::Draft2020);
            // A schema that cannot be compiled accepts nothing and would prove anything.
            judge.is_able() && values.into_iter().all(|value| !judge.accepts(value))
        })
    };
    refused(values(a), b) || refused(values(b), a)
}

fn values(schema: &Schema) -> Option<Vec<&Value>> {
    match schema.get("const") {
        Some(one) => Some(vec![one]),
        None => Some(schema.get("enum")?.as_array()?.iter().collect()),
    }
}

fn by_type_or_fields(a: &Schema, b: &Schema) -> bool {
    let (Some(of_a), Some(of_b)) = (a.get("type").map(type_names), b.get("type").map(type_names)) else {
        return a.get("type").is_some_and(|name| name == "object") && by_fields(a, b);
    };
    let same =
        |x: &str, y: &str| x == y || (x == "integer" && y == "number") || (x == "number" && y == "integer");
    let common: Vec<&&str> = of_a.iter().filter(|x| of_b.iter().any(|y| same(x, y))).collect();
    common.is_empty() || (common == [&"object"] && by_fields(a, b))
}

/// Any value that fits both would need a field that the closed side does not have, or that both describe
/// without a value in common.
fn by_fields(closed: &Schema, other: &Schema) -> bool {
    let field =
        |schema: &'_ Schema, name: &str| schema.get("properties").and_then(|all| all.get(name)).cloned();
    let shut =
        other.get("additionalProperties") == Some(&json!(false)) && !other.contains_key("patternProperties");
    let clash = |name: &str| match (field(closed, name), field(other, name)) {
        (None, _) => true,
        (Some(Value::Object(ours)), Some(theirs)) => disjoint(&ours, &theirs),
        (Some(_), theirs) => shut && theirs.is_none(),
    };
    let needed =
        [closed, other].into_iter().filter_map(|schema| schema.get("required")?.as_array()).flatten();
    needed.filter_map(Value::as_str).any(clash)
}

/// The other side is made of parts: all must be apart where one of them is enough, one where all count.
fn by_parts(strict: &Schema, other: &Schema) -> bool {
    let parts =
        |keyword: &str| other.get(keyword).and_then(Value::as_array).filter(|parts| !parts.is_empty());
    let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(parts);
    alternatives.into_iter().any(|forms| forms.iter().all(|form| disjoint(strict, form)))
        || parts("allOf").is_some_and(|parts| parts.iter().any(|part| disjoint(strict, part)))
}
