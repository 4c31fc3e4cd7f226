//! Values without fields in strict words: listed ones, texts, numbers, lists.

use serde_json::{Value, json};

use super::{
    narrow::{Blocked, Narrow, Schema, blocked},
    values::{self, Judge},
    words::{remark, words},
};
use crate::schema::{dialect::Dialect, formats::is_checked};

impl Narrow<'_> {
    /// The values of `enum` or `const` that fit everything else the schema says.
    pub(super) fn listed(&mut self, at: &str, schema: &Schema) -> Result<Schema, Blocked> {
        let judge = Judge::new(schema, self.dialect);
        let single = schema.get("const").map(std::slice::from_ref);
        let listed = single.or_else(|| schema.get("enum")?.as_array().map(Vec::as_slice)).unwrap_or_default();
        // In draft 4, 1.0 is no integer, and the judge does not know that.
        let odd = |value: &Value| value.is_f64() && self.dialect == Dialect::Draft4;
        let plain = |value: &&Value| !value.is_array() && !value.is_object() && !odd(value);
        let values: Vec<Value> =
            listed.iter().filter(plain).filter(|value| judge.accepts(value)).cloned().collect();
        let keyword = if single.is_some() { "const" } else { "enum" };
        if values.is_empty() {
            return blocked(at, keyword, "none of the listed values can be said strictly");
        }
        if values.len() < listed.len() {
            self.report.dropped(
                at,
                keyword,
                "values that are lists or objects, or that do not fit, are left out",
            );
        }
        let mut form = Schema::from_iter([("type".to_owned(), values::types_of(&values))]);
        match values.as_slice() {
            [one] if single.is_some() => form.insert("const".to_owned(), one.clone()),
            _ => form.insert("enum".to_owned(), Value::Array(values)),
        };
        Ok(form)
    }

    pub(super) fn string(&mut self, at: &str, schema: &Schema) -> Result<Schema, Blocked> {
        let trivial = |keyword: &str, value: &Value| keyword == "minLength" && value.as_f64() == Some(0.0);
        for keyword in ["minLength", "maxLength", "pattern"] {
            if schema.get(keyword).is_some_and(|value| !trivial(keyword, value)) {
                return blocked(at, keyword, "strict mode has no bounds on strings");
            }
        }
        let mut form = Schema::from_iter([("type".to_owned(), json!("string"))]);
        if let Some(Value::String(format)) = schema.get("format") {
            if is_checked(self.dialect, format) {
                return blocked(
                    at,
                    "format",
                    "this draft checks formats, and no strict mode checks them the same way",
                );
            }
            if super::rules::formats(self.provider).contains(&format.as_str()) {
                form.insert("format".to_owned(), json!(format));
            } else {
                remark(&mut form, &words("format", &json!(format)));
                self.report.moved(at, "format");
            }
        }
        Ok(form)
    }

    pub(super) fn number(&mut self, at: &str, name: &str, schema: &Schema) -> Result<Schema, Blocked> {
        if name == "integer" && self.dialect == Dialect::Draft4 {
            return blocked(at, "type", "in draft 4, 1.0 is no integer; in every strict mode it is one");
        }
        let bounds: Vec<&str> =
            values::BOUNDS.into_iter().filter(|bound| schema.contains_key(*bound)).collect();
        let Some(first) = bounds.first() else {
            return Ok(Schema::from_iter([("type".to_owned(), json!(name))]));
        };
        let Some(values) = values::whole_numbers(schema, self.dialect) else {
            return blocked(
                at,
                first,
                "strict mode has no bounds on numbers, and these are too many to list",
            );
        };
        let why = match name {
            "number" => "written as a list of the whole numbers it allows",
            _ => "written as a list of the numbers it allows",
        };
        bounds.iter().for_each(|bound| self.report.rewrote(at, bound, why));
        Ok(Schema::from_iter([("type".to_owned(), json!("integer")), ("enum".to_owned(), json!(values))]))
    }

    pub(super) fn array(&mut self, at: &str, schema: &Schema) -> Result<Schema, Blocked> {
        for keyword in ["prefixItems", "contains", "unevaluatedItems"] {
            if schema.contains_key(keyword) {
                return blocked(at, keyword, "strict mode cannot say this about lists");
            }
        }
        if schema.get("uniqueItems") == Some(&json!(true)) {
            return blocked(at, "uniqueItems", "strict mode cannot say that items differ");
        }
        let mut form = Schema::from_iter([("type".to_owned(), json!("array"))]);
        let items = schema.get("items").unwrap_or(&Value::Bool(true));
        form.insert("items".to_owned(), self.narrow(&format!("{at}/items"), items)?);
        for keyword in ["minItems", "maxItems"] {
            let Some(limit) = schema.get(keyword) else { continue };
            let trivial = keyword == "minItems" && limit.as_f64() == Some(0.0);
            let sayable = self.provider.is_openai() || (keyword == "minItems" && limit.as_f64() == Some(1.0));
            match (trivial, sayable) {
                (true, _) => {}
                (_, true) => {
                    form.insert(keyword.to_owned(), limit.clone());
                }
                _ => return blocked(at, keyword, "strict mode cannot bound the length of a list like this"),
            }
        }
        Ok(form)
    }
}
