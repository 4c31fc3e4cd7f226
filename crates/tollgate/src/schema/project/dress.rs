//! A narrowed schema the way one provider writes it, and the way back. What it accepts, once taken back, is
//! exactly what the narrowed schema accepts.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    Inverse, Provider,
    inverse::{Ambiguous, Field, KEY, Null, Step, VALUE},
    keys::wire_names,
    narrow::{Blocked, Schema, blocked},
    report::Report,
    words::{remark, words},
};
use crate::schema::{merge::type_names, walk::escaped};

/// Writes a narrowed schema the provider's way.
pub(super) fn dress(
    narrowed: Schema,
    provider: Provider,
    report: &mut Report,
) -> Result<(Value, Inverse), Blocked> {
    let schema = Value::Object(narrowed);
    let names = if provider == Provider::Anthropic { wire_names(&schema) } else { BTreeMap::new() };
    let mut dresser = Dresser { provider, names, report };
    let (schema, mut step) = dresser.dress("", schema)?;
    step.prune();
    Ok((schema, Inverse::new(step)))
}

struct Dresser<'r> {
    provider: Provider,
    names: BTreeMap<String, String>,
    report: &'r mut Report,
}

impl Dresser<'_> {
    fn dress(&mut self, at: &str, schema: Value) -> Result<(Value, Step), Blocked> {
        let Value::Object(mut map) = schema else { return Ok((schema, Step::default())) };
        let mut step = Step::default();
        if let Some(Value::Array(forms)) = map.get_mut("anyOf") {
            for (number, form) in forms.iter_mut().enumerate() {
                let place = format!("{at}/anyOf/{number}");
                let (dressed, inner) = self.dress(&place, form.take())?;
                *form = dressed;
                if let Err(ambiguous) = step.join(inner) {
                    return blocked(at, "anyOf", why(&ambiguous));
                }
            }
        }
        let is_map = map.get("type") == Some(&json!("object")) && !map.contains_key("properties");
        if is_map {
            let (values, inner) = self.inside(at, &mut map, "additionalProperties")?;
            let (key, _) = self.inside(at, &mut map, "propertyNames")?;
            step = Step::map(inner);
            as_list(&mut map, &key, &values);
            self.report.rewrote(at, "additionalProperties", "a map is written as a list of keys and values");
        } else if let Some(items) = map.get_mut("items") {
            let (dressed, inner) = self.dress(&format!("{at}/items"), items.take())?;
            *items = dressed;
            step.items(inner);
        }
        if let Some(Value::Object(fields)) = map.shift_remove("properties") {
            self.object(at, &mut map, fields, &mut step)?;
        }
        if self.provider.is_openai() {
            self.openai_words(at, &mut map);
        }
        Ok((Value::Object(map), step))
    }

    /// Takes out the schema under a keyword and writes it the provider's way.
    fn inside(&mut self, at: &str, map: &mut Schema, keyword: &str) -> Result<(Value, Step), Blocked> {
        let schema = map.shift_remove(keyword).unwrap_or(Value::Bool(true));
        self.dress(&format!("{at}/{keyword}"), schema)
    }

    fn object(
        &mut self,
        at: &str,
        map: &mut Schema,
        fields: Map<String, Value>,
        step: &mut Step,
    ) -> Result<(), Blocked> {
        let required: HashSet<String> = match map.shift_remove("required") {
            Some(Value::Array(names)) => {
                names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
            }
            _ => HashSet::new(),
        };
        let mut dressed_fields = Schema::new();
        let mut needed = Vec::new();
        for (name, schema) in fields {
            let place = format!("{at}/properties/{}", escaped(&name));
            let optional = !required.contains(&name);
            let takes_null = takes_null(&schema);
            let (mut dressed, inside) = self.dress(&place, schema)?;
            let null = match (optional, takes_null) {
                (true, true) => Null::Either,
                (true, false) if self.provider.is_openai() => Null::Absent,
                (true | false, false) => Null::Never,
                (false, true) => Null::Itself,
            };
            if null == Null::Absent {
                dressed = nullable(dressed);
                self.report.rewrote(
                    &place,
                    "required",
                    "optional, so it is required and null stands for absent",
                );
            }
            let wire = self.names.get(&name).cloned();
            if let Some(wire) = &wire {
                self.report.rewrote(
                    &place,
                    "properties",
                    format!("called {wire:?}, since {name:?} is no legal name"),
                );
            }
            let renamed_from = wire.is_some().then(|| name.clone());
            let wire = wire.unwrap_or(name);
            if !optional || self.provider.is_openai() {
                needed.push(json!(wire));
            }
            step.field(wire.clone(), Field { renamed_from, null, inside });
            dressed_fields.insert(wire, dressed);
        }
        let closed = map.shift_remove("additionalProperties").unwrap_or(json!(false));
        map.insert("properties".to_owned(), Value::Object(dressed_fields));
        if !needed.is_empty() || self.provider.is_openai() {
            map.insert("required".to_owned(), Value::Array(needed));
        }
        map.insert("additionalProperties".to_owned(), closed);
        Ok(())
    }

    /// `const` and `default` are not among the words of this provider's strict mode.
    fn openai_words(&mut self, at: &str, map: &mut Schema) {
        if let Some(only) = map.shift_remove("const") {
            map.insert("enum".to_owned(), json!([only]));
            self.report.rewrote(at, "const", "written as a list of one value");
        }
        if let Some(default) = map.shift_remove("default") {
            remark(map, &words("default", &default));
            self.report.moved(at, "default");
        }
    }
}

/// A map as a list of its keys and values.
fn as_list(map: &mut Schema, key: &Value, values: &Value) {
    let least = map.shift_remove("minProperties");
    let pair = json!({
        "type": "object",
        "properties": {KEY: key, VALUE: values},
        "required": [KEY, VALUE],
        "additionalProperties": false,
    });
    map.insert("type".to_owned(), json!("array"));
    map.insert("items".to_owned(), pair);
    map.extend(least.map(|least| ("minItems".to_owned(), least)));
    remark(map, "a map, written as a list of its keys and values");
}

fn why(ambiguous: &Ambiguous) -> String {
    match ambiguous {
        Ambiguous::Null(field) => {
            format!("a null in {field:?} would mean absent in one form and null in another")
        }
        Ambiguous::List => "a list would be itself in one form and a map in another".to_owned(),
    }
}

fn takes_null(schema: &Value) -> bool {
    let listed = schema.get("enum").and_then(Value::as_array);
    let forms = schema.get("anyOf").and_then(Value::as_array);
    match (listed, schema.get("const"), forms) {
        (Some(values), _, _) => values.contains(&Value::Null),
        (_, Some(only), _) => only.is_null(),
        (_, _, Some(forms)) => forms.iter().any(takes_null),
        _ => schema.get("type").is_some_and(|kind| type_names(kind).contains(&"null")),
    }
}

/// The same schema, accepting null too.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut map) = schema else { return schema };
    if let Some(Value::Array(forms)) = map.get_mut("anyOf") {
        forms.push(json!({"type": "null"}));
        return Value::Object(map);
    }
    let types: Vec<Value> =
        map.get("type").map(type_names).unwrap_or_default().into_iter().map(Value::from).collect();
    if types.iter().any(|name| name == "object" || name == "array") {
        let notes: Vec<(String, Value)> = ["title", "description"]
            .into_iter()
            .filter_map(|note| map.shift_remove(note).map(|value| (note.to_owned(), value)))
            .collect();
        let mut outer = Schema::from_iter([("anyOf".to_owned(), json!([map, {"type": "null"}]))]);
        outer.extend(notes);
        return Value::Object(outer);
    }
    let types: Vec<Value> = types.into_iter().chain([json!("null")]).collect();
    map.insert("type".to_owned(), Value::Array(types));
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.push(Value::Null);
    }
    Value::Object(map)
}
