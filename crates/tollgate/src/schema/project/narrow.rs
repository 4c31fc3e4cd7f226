//! A smaller schema in the few words strict modes know: everything it accepts, the original accepts.
//!
//! Every step may only make the schema smaller. What no smaller schema can say stops it, with the reason.

use serde_json::{Map, Value, json};

use super::{
    ProjectOptions, Provider,
    report::{Report, ReportEntry},
    values,
    words::{remark, words},
};
use crate::schema::{
    dialect::Dialect,
    merge::{accepts_everything, type_names},
};

pub(super) type Schema = Map<String, Value>;

/// Why something cannot be said strictly.
pub(super) type Blocked = Vec<ReportEntry>;

/// Steps taken before it counts as too much: alternatives multiply.
const MOST: usize = 200_000;

pub(super) struct Narrow<'r> {
    pub(super) dialect: Dialect,
    pub(super) provider: Provider,
    pub(super) options: ProjectOptions,
    pub(super) report: &'r mut Report,
    left: usize,
    /// Forms of the current value that had to be left out, for its description.
    pub(super) lost: Vec<String>,
}

pub(super) fn blocked<T>(at: &str, keyword: &str, why: impl Into<String>) -> Result<T, Blocked> {
    Err(vec![ReportEntry::new(at, keyword, why)])
}

impl<'r> Narrow<'r> {
    pub(super) fn new(
        dialect: Dialect,
        provider: Provider,
        options: ProjectOptions,
        report: &'r mut Report,
    ) -> Self {
        Self { dialect, provider, options, report, left: MOST, lost: Vec::new() }
    }

    /// The whole schema of the arguments: one object, since providers take no alternatives there.
    pub(super) fn root(&mut self, schema: &Schema) -> Result<Schema, Blocked> {
        for keyword in ["anyOf", "oneOf"] {
            if schema.contains_key(keyword) {
                return blocked("", keyword, "the arguments have several forms, and there can be only one");
            }
        }
        let mut schema = schema.clone();
        schema.insert("type".to_owned(), json!("object"));
        // Arguments are closed where the schema is silent, even if it names no field at all.
        schema.entry("properties").or_insert_with(|| json!({}));
        let narrowed = self.narrow("", &Value::Object(schema))?;
        match narrowed {
            Value::Object(map) if map.get("type") == Some(&json!("object")) => Ok(map),
            _ => blocked("", "type", "the arguments are not plainly an object"),
        }
    }

    /// A schema below, with its notes.
    pub(super) fn narrow(&mut self, at: &str, schema: &Value) -> Result<Value, Blocked> {
        let Value::Object(schema) = schema else { return blocked(at, "", boolean(schema)) };
        let around = std::mem::take(&mut self.lost);
        let forms = self.forms(at, schema);
        let lost = std::mem::replace(&mut self.lost, around);
        let forms = forms?;
        let mut whole = Schema::new();
        match <[Schema; 1]>::try_from(forms) {
            Ok([form]) => whole.extend(form),
            Err(forms) => several(&mut whole, forms),
        }
        self.notes(at, schema, &mut whole);
        if !lost.is_empty() {
            remark(
                &mut whole,
                &format!("the tool also takes {}, which cannot be sent here", lost.join(" or ")),
            );
        }
        Ok(Value::Object(whole))
    }

    /// The forms a value may have, each of one type or of several plain ones.
    pub(super) fn forms(&mut self, at: &str, schema: &Schema) -> Result<Vec<Schema>, Blocked> {
        self.spend(at, 1)?;
        for keyword in ["not", "if", "allOf", "$ref"] {
            if schema.contains_key(keyword) {
                return blocked(at, keyword, "strict mode cannot say this");
            }
        }
        match (schema.get("anyOf"), schema.get("oneOf")) {
            (None, None) => self.typed(at, schema),
            (Some(Value::Array(branches)), None) => self.alternatives(at, "anyOf", schema, branches),
            (None, Some(Value::Array(branches))) => self.alternatives(at, "oneOf", schema, branches),
            _ => blocked(at, "anyOf", "strict mode cannot say two sets of alternatives at once"),
        }
    }

    pub(super) fn spend(&mut self, at: &str, steps: usize) -> Result<(), Blocked> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => blocked(at, "", "there are too many alternatives to look at"),
        }
    }

    /// A schema without alternatives, for each type it allows.
    fn typed(&mut self, at: &str, schema: &Schema) -> Result<Vec<Schema>, Blocked> {
        for keyword in ["contentEncoding", "contentMediaType"] {
            if self.dialect.asserts_formats() && schema.contains_key(keyword) {
                return blocked(at, keyword, "this draft checks it, and strict mode cannot say it");
            }
        }
        if schema.contains_key("enum") || schema.contains_key("const") {
            return self.listed(at, schema).map(|form| vec![form]);
        }
        let mut types = schema.get("type").map(type_names).unwrap_or_default();
        if types.is_empty() {
            types = types_by_keywords(schema);
            if !types.is_empty() {
                self.report.rewrote(
                    at,
                    "type",
                    format!("taken to be {}, as the other keywords suggest", types.join(" or ")),
                );
            }
        }
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        let mut forms = Vec::new();
        let mut reasons = Vec::new();
        let mut lost = Vec::new();
        for name in types {
            let mark = self.report.mark();
            match self.one_type(at, name, schema) {
                Ok(form) => forms.push(form),
                Err(why) => {
                    self.report.back_to(mark);
                    reasons.extend(why);
                    lost.push(with_article(name));
                }
            }
        }
        if forms.is_empty() && reasons.is_empty() {
            return blocked(at, "", "any value is accepted here");
        }
        self.leave_out(&forms, reasons, lost)?;
        Ok(forms)
    }

    /// Forms that cannot be said are left out while another one remains. Null is not enough: the field would be
    /// there and good for nothing.
    pub(super) fn leave_out(
        &mut self,
        kept: &[Schema],
        reasons: Blocked,
        lost: Vec<String>,
    ) -> Result<(), Blocked> {
        if !reasons.is_empty() && kept.iter().all(|form| form.get("type") == Some(&json!("null"))) {
            return Err(reasons);
        }
        for reason in reasons {
            self.report.dropped(
                &reason.pointer,
                &reason.keyword,
                format!("this form is left out: {}", reason.why),
            );
        }
        for form in lost {
            if !self.lost.contains(&form) {
                self.lost.push(form);
            }
        }
        Ok(())
    }

    fn one_type(&mut self, at: &str, name: &str, schema: &Schema) -> Result<Schema, Blocked> {
        match name {
            "null" | "boolean" => Ok(Schema::from_iter([("type".to_owned(), json!(name))])),
            "string" => self.string(at, schema),
            "integer" | "number" => self.number(at, name, schema),
            "array" => self.array(at, schema),
            "object" => self.object(at, schema),
            _ => blocked(at, "type", format!("{name:?} is not a type")),
        }
    }

    /// What a schema says to people, put where the model reads it.
    pub(super) fn notes(&mut self, at: &str, schema: &Schema, form: &mut Schema) {
        let moved = form.shift_remove("description");
        for keyword in ["title", "description", "default"] {
            if let Some(note) = schema.get(keyword) {
                form.insert(keyword.to_owned(), note.clone());
            }
        }
        if let Some(Value::String(moved)) = moved {
            let own = form.get("description").and_then(Value::as_str).unwrap_or_default().trim_end();
            form.insert("description".to_owned(), json!(format!("{own} {moved}").trim_start()));
        }
        for (keyword, value) in schema {
            match keyword.as_str() {
                "title" | "description" | "default" | "$comment" => {}
                "examples" => {
                    remark(form, &words(keyword, value));
                    self.report.moved(at, keyword);
                }
                other if accepts_everything(other) => {
                    self.report.dropped(at, other, "strict mode does not take it, and it accepts everything");
                }
                _ => {}
            }
        }
    }
}

/// Why a schema that is no object has no strict form.
pub(super) fn boolean(schema: &Value) -> &'static str {
    if *schema == json!(false) { "nothing is accepted here" } else { "any value is accepted here" }
}

pub(super) fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {name}")
}

/// Several forms of one value: plain types in one list, everything else as alternatives.
fn several(whole: &mut Schema, forms: Vec<Schema>) {
    let (plain, rest): (Vec<_>, Vec<_>) = forms.into_iter().partition(is_plain);
    let types: Vec<Value> = plain.into_iter().filter_map(|mut form| form.shift_remove("type")).collect();
    let plain = match types.as_slice() {
        [] => None,
        [one] => Some(json!({"type": one})),
        several => Some(json!({"type": several})),
    };
    let mut forms: Vec<Value> = rest.into_iter().map(Value::Object).collect();
    match (plain, forms.is_empty()) {
        (Some(Value::Object(plain)), true) => whole.extend(plain),
        (plain, _) => {
            forms.extend(plain);
            whole.insert("anyOf".to_owned(), Value::Array(forms));
        }
    }
}

fn is_plain(form: &Schema) -> bool {
    form.len() == 1
        && form.get("type").is_some_and(|name| name != "object" && name != "array" && name.is_string())
}

/// What a schema without `type` is about, judging by what else it says.
fn types_by_keywords(schema: &Schema) -> Vec<&'static str> {
    let says = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
    let mut types = Vec::new();
    if says(&["properties", "required", "additionalProperties", "patternProperties"]) {
        types.push("object");
    }
    if says(&["items"]) {
        types.push("array");
    }
    if says(&["minLength", "maxLength", "pattern", "format"]) {
        types.push("string");
    }
    if says(&values::BOUNDS) {
        types.push("number");
    }
    types
}
