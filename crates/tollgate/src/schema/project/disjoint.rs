//! A proof that no value fits two schemas. Finding none proves nothing.

use serde_json::{Map, Value, json};

use super::values::Judge;
use crate::schema::{dialect::Dialect, merge::type_names};

type Schema = Map<String, Value>;

/// Pairs of schemas that are compared before the proof is given up.
const MOST: usize = 10_000;

/// True when certainly no value fits both: `strict`, in the words strict modes know, and any other schema.
pub(super) fn disjoint(strict: &Schema, other: &Value) -> bool {
    Proof { left: MOST }.apart(strict, other)
}

struct Proof {
    left: usize,
}

impl Proof {
    fn apart(&mut self, strict: &Schema, other: &Value) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return false;
        }
        let schema = match other {
            Value::Bool(accepts) => return !accepts,
            Value::Object(schema) => schema,
            _ => return false,
        };
        if let Some(Value::Array(forms)) = strict.get("anyOf") {
            return forms.iter().all(|form| form.as_object().is_some_and(|form| self.apart(form, other)));
        }
        self.by_type_or_fields(strict, schema) || self.by_parts(strict, schema) || by_values(strict, schema)
    }

    fn by_type_or_fields(&mut self, a: &Schema, b: &Schema) -> bool {
        let (Some(of_a), Some(of_b)) = (a.get("type").map(type_names), b.get("type").map(type_names)) else {
            return a.get("type").is_some_and(|name| name == "object") && self.by_fields(a, b);
        };
        let number = |name: &str| name == "integer" || name == "number";
        let same = |x: &str, y: &str| x == y || (number(x) && number(y));
        let common: Vec<&&str> = of_a.iter().filter(|x| of_b.iter().any(|y| same(x, y))).collect();
        common.is_empty() || (common == [&"object"] && self.by_fields(a, b))
    }

    /// Any value that fits both would need a field that the closed side does not have, or that both describe
    /// without a value in common.
    fn by_fields(&mut self, closed: &Schema, other: &Schema) -> bool {
        // A map has fields without names, so there is nothing it does not have.
        if closed.get("additionalProperties") != Some(&json!(false)) {
            return false;
        }
        let shut = other.get("additionalProperties") == Some(&json!(false))
            && !other.contains_key("patternProperties");
        let needed =
            [closed, other].into_iter().filter_map(|schema| schema.get("required")?.as_array()).flatten();
        needed.filter_map(Value::as_str).any(|name| match (field(closed, name), field(other, name)) {
            (None, _) => true,
            (Some(Value::Object(ours)), Some(theirs)) => self.apart(ours, theirs),
            (Some(_), theirs) => shut && theirs.is_none(),
        })
    }

    /// The other side is made of parts: all must be apart where one of them is enough, one where all count.
    fn by_parts(&mut self, strict: &Schema, other: &Schema) -> bool {
        let parts =
            |keyword: &str| other.get(keyword).and_then(Value::as_array).filter(|parts| !parts.is_empty());
        let mut alternatives = ["anyOf", "oneOf"].into_iter().filter_map(parts);
        alternatives.any(|forms| forms.iter().all(|form| self.apart(strict, form)))
            || parts("allOf").is_some_and(|parts| parts.iter().any(|part| self.apart(strict, part)))
    }
}

fn field<'a>(schema: &'a Schema, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// One side lists its values, and none of them fits the other.
fn by_values(a: &Schema, b: &Schema) -> bool {
    if let (Some(of_a), Some(of_b)) = (values(a), values(b)) {
        let few = of_a.len().saturating_mul(of_b.len()) <= MOST * 10;
        return few && !of_a.iter().any(|x| of_b.iter().any(|y| may_be_equal(x, y)));
    }
    let refused = |listed: Option<Vec<&Value>>, by: &Schema| {
        listed.is_some_and(|values| {
            let judge = Judge::new(by, Dialect::Draft2020);
            // A schema that cannot be compiled accepts nothing and would prove anything.
            judge.is_able() && values.into_iter().all(|value| !judge.accepts(value))
        })
    };
    refused(values(a), b) || refused(values(b), a)
}

/// True also for values that are written differently and may mean the same, as 1 and 1.0 do.
fn may_be_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => true,
        _ => a == b,
    }
}

fn values(schema: &Schema) -> Option<Vec<&Value>> {
    match schema.get("const") {
        Some(one) => Some(vec![one]),
        None => Some(schema.get("enum")?.as_array()?.iter().collect()),
    }
}
