//! Objects in strict words: named fields, and nothing else.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    narrow::{Blocked, Narrow, Schema, blocked},
    report::ReportEntry,
    values::Judge,
};
use crate::schema::walk::escaped;

impl Narrow<'_> {
    /// An object with the fields it names, closed; or a map, where it names none.
    pub(super) fn object(&mut self, at: &str, schema: &Schema) -> Result<Schema, Blocked> {
        let none = Schema::new();
        let named = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        if let Some(open) = open_by(schema) {
            if named.is_empty() {
                return self.map(at, schema, open);
            }
            self.report.dropped(at, open, "fields that have no name in the schema are left out");
        }
        let required = names(schema.get("required"));
        let needed: HashSet<&str> = required.iter().map(String::as_str).collect();
        let mut fields = Schema::new();
        let mut reasons: Blocked = Vec::new();
        for (name, field) in named {
            let place = format!("{at}/properties/{}", escaped(name));
            if *field == json!(false) && !needed.contains(name.as_str()) {
                continue;
            }
            let mark = self.report.mark();
            match self.narrow(&place, field) {
                Ok(narrowed) => {
                    fields.insert(name.clone(), narrowed);
                }
                Err(why) if self.options.leave_out_optional && !needed.contains(name.as_str()) => {
                    self.report.back_to(mark);
                    let why = why.first().map(|entry| entry.why.clone()).unwrap_or_default();
                    self.report.dropped(&place, "", format!("this optional field is left out: {why}"));
                }
                Err(why) => reasons.extend(why),
            }
        }
        reasons.extend(required.iter().filter(|name| !named.contains_key(*name)).map(|name| {
            ReportEntry::new(at, "required", format!("the field {name:?} is required and not described"))
        }));
        if !reasons.is_empty() {
            return Err(reasons);
        }
        self.check_names(at, schema, &fields, &needed)?;
        let mut form = Schema::from_iter([("type".to_owned(), json!("object"))]);
        form.insert("properties".to_owned(), Value::Object(fields));
        if !required.is_empty() {
            form.insert("required".to_owned(), json!(required));
        }
        form.insert("additionalProperties".to_owned(), json!(false));
        Ok(form)
    }

    /// A map from free keys to values of one form. Strict modes have none, but a list of keys and values says the
    /// same: the last step before the wire writes it so, and its inverse reads it back.
    fn map(&mut self, at: &str, schema: &Schema, open: &str) -> Result<Schema, Blocked> {
        const RULES: [&str; 6] = [
            "patternProperties",
            "required",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
            "unevaluatedProperties",
        ];
        for keyword in RULES {
            if schema.get(keyword).is_some_and(|value| *value != json!([]) && *value != json!({})) {
                return blocked(
                    at,
                    keyword,
                    "strict mode has no maps with free keys and rules for some of them",
                );
            }
        }
        let rest = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let values = self.narrow(&format!("{at}/{open}"), rest).map_err(|_| {
            vec![ReportEntry::new(at, open, "strict mode has no maps from free keys to any value")]
        })?;
        let mut form = Schema::from_iter([("type".to_owned(), json!("object"))]);
        form.insert("additionalProperties".to_owned(), values);
        let count = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        match count("minProperties") {
            None | Some(0.0) => {}
            // Of pairs with the same key one is left, so one is all that can be promised.
            Some(1.0) => {
                form.insert("minProperties".to_owned(), json!(1));
            }
            Some(_) => return blocked(at, "minProperties", "strict mode cannot count fields"),
        }
        if count("maxProperties").is_some() {
            return blocked(at, "maxProperties", "strict mode cannot count fields");
        }
        let mut names = schema.get("propertyNames").cloned().unwrap_or_else(|| json!({}));
        if names == json!(true) {
            names = json!({});
        }
        if let Value::Object(names) = &mut names {
            names.insert("type".to_owned(), json!("string"));
        }
        form.insert("propertyNames".to_owned(), self.narrow(&format!("{at}/propertyNames"), &names)?);
        Ok(form)
    }

    /// What the schema says about fields together must follow from their names alone.
    fn check_names(
        &self,
        at: &str,
        schema: &Schema,
        fields: &Schema,
        needed: &HashSet<&str>,
    ) -> Result<(), Blocked> {
        if schema.get("minProperties").is_some_and(|least| !is_at_most(least, needed.len())) {
            return blocked(at, "minProperties", "strict mode cannot count fields");
        }
        if schema.get("maxProperties").is_some_and(|most| !is_at_least(most, fields.len())) {
            return blocked(at, "maxProperties", "strict mode cannot count fields");
        }
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            for (name, needs) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
                let met =
                    needs.is_array() && names(Some(needs)).iter().all(|need| needed.contains(need.as_str()));
                if fields.contains_key(name) && !met {
                    return blocked(
                        at,
                        keyword,
                        format!("strict mode cannot say what {name:?} needs beside it"),
                    );
                }
            }
        }
        if schema.contains_key("unevaluatedProperties") {
            return blocked(at, "unevaluatedProperties", "it is open which fields that means");
        }
        if let Some(Value::Object(rule)) = schema.get("propertyNames") {
            let judge = Judge::new(rule, self.dialect);
            if !fields.keys().all(|name| judge.accepts(&json!(name))) {
                return blocked(at, "propertyNames", "it refuses a name the schema describes");
            }
        } else if schema.get("propertyNames") == Some(&json!(false)) && !fields.is_empty() {
            return blocked(at, "propertyNames", "it refuses every name");
        }
        for pattern in
            schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten().map(|one| one.0)
        {
            let rule = Schema::from_iter([("not".to_owned(), json!({"pattern": pattern}))]);
            let judge = Judge::new(&rule, self.dialect);
            if !fields.keys().all(|name| judge.accepts(&json!(name))) {
                return blocked(
                    at,
                    "patternProperties",
                    format!("{pattern:?} speaks of fields that have a name too"),
                );
            }
        }
        Ok(())
    }
}

/// The keyword that lets an object have fields without a name in the schema, where one does. Silence does only
/// where nothing is named at all: elsewhere it is read as closed.
fn open_by(schema: &Schema) -> Option<&'static str> {
    let rest = schema.get("additionalProperties");
    if schema.contains_key("patternProperties") {
        Some("patternProperties")
    } else if rest.is_some_and(|rest| *rest != json!(false))
        || (rest.is_none() && !schema.contains_key("properties"))
    {
        Some("additionalProperties")
    } else {
        None
    }
}

/// False also for what is no whole number: then nothing is certain.
fn is_at_most(limit: &Value, count: usize) -> bool {
    whole(limit).is_some_and(|limit| limit <= count as u64)
}

fn is_at_least(limit: &Value, count: usize) -> bool {
    whole(limit).is_some_and(|limit| limit >= count as u64)
}

/// 2.0 is a whole number too.
fn whole(limit: &Value) -> Option<u64> {
    let float = || limit.as_f64().filter(|limit| *limit >= 0.0 && limit.fract() == 0.0 && *limit < 1e9);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked on the line above")]
    limit.as_u64().or_else(|| float().map(|limit| limit as u64))
}

fn names(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}
