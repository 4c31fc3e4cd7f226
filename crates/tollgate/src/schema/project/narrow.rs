//! A smaller schema in the few words strict modes know: everything it accepts, the original accepts.
//!
//! Every step may only make the schema smaller. What no smaller schema can say stops it, with the reason.

use serde_json::{Map, Value, json};

use super::{
    Options, Provider,
    disjoint::disjoint,
    numbers::{self, Judge},
    report::{Entry, Report},
    words::{remark, words},
};
use crate::schema::{
    dialect::Dialect,
    formats::is_checked,
    merge::{accepts_everything, merge, type_names},
    simplify::fold,
};

pub(super) type Schema = Map<String, Value>;

/// Why something cannot be said strictly.
pub(super) type Blocked = Vec<Entry>;

/// Steps taken before it counts as too much: alternatives multiply.
const MOST: usize = 200_000;

pub(super) struct Narrow<'r> {
    pub(super) dialect: Dialect,
    pub(super) provider: Provider,
    pub(super) options: Options,
    pub(super) report: &'r mut Report,
    left: usize,
}

pub(super) fn blocked<T>(at: &str, keyword: &str, why: impl Into<String>) -> Result<T, Blocked> {
    Err(vec![Entry::new(at, keyword, why)])
}

impl<'r> Narrow<'r> {
    pub(super) fn new(
        dialect: Dialect,
        provider: Provider,
        options: Options,
        report: &'r mut Report,
    ) -> Self {
        Self { dialect, provider, options, report, left: MOST }
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
        let forms = self.forms(at, schema)?;
        let mut whole = Schema::new();
        match <[Schema; 1]>::try_from(forms) {
            Ok([form]) => whole.extend(form),
            Err(forms) => several(&mut whole, forms),
        }
        self.notes(at, schema, &mut whole);
        Ok(Value::Object(whole))
    }

    /// The forms a value may have, each of one type or of several plain ones.
    fn forms(&mut self, at: &str, schema: &Schema) -> Result<Vec<Schema>, Blocked> {
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
            _ => blocked(at, "oneOf", "strict mode cannot say two sets of alternatives at once"),
        }
    }

    fn spend(&mut self, at: &str, steps: usize) -> Result<(), Blocked> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => blocked(at, "", "there are too many alternatives to look at"),
        }
    }

    /// The forms of all branches together. One that cannot be said is left out while another remains.
    fn alternatives(
        &mut self,
        at: &str,
        keyword: &str,
        schema: &Schema,
        branches: &[Value],
    ) -> Result<Vec<Schema>, Blocked> {
        let base: Schema = schema
            .iter()
            .filter(|(key, _)| *key != keyword && !accepts_everything(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        // Every branch gets a copy of what stands around it, and is compared with every other one.
        self.spend(at, branches.len() * size(&base))?;
        if keyword == "oneOf" {
            self.spend(at, branches.len() * branches.len())?;
        }
        let whole: Vec<Value> = branches.iter().map(|branch| with_base(branch, &base)).collect();
        let mut forms = Vec::new();
        let mut reasons = Vec::new();
        for (number, branch) in whole.iter().enumerate() {
            let place = format!("{at}/{keyword}/{number}");
            let others =
                whole.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, other)| other);
            let mark = self.report.mark();
            let narrowed = self.branch(&place, branch).and_then(|forms| {
                if keyword == "oneOf" && !others.clone().all(|other| apart(&forms, other)) {
                    return blocked(
                        &place,
                        keyword,
                        "it is not certain that no other form fits the same value",
                    );
                }
                Ok(forms)
            });
            match narrowed {
                Ok(narrowed) => forms
                    .extend(narrowed.into_iter().filter(|form| !forms.contains(form)).collect::<Vec<_>>()),
                Err(why) => {
                    self.report.back_to(mark);
                    reasons.extend(why);
                }
            }
        }
        self.leave_out(&forms, reasons)?;
        if keyword == "oneOf" {
            self.report.rewrote(at, "oneOf", "written as anyOf; the forms exclude each other");
        }
        Ok(forms)
    }

    fn branch(&mut self, at: &str, branch: &Value) -> Result<Vec<Schema>, Blocked> {
        let Value::Object(map) = branch else { return blocked(at, "", boolean(branch)) };
        let mut forms = self.forms(at, map)?;
        for form in &mut forms {
            self.notes(at, map, form);
        }
        Ok(forms)
    }

    /// A schema without alternatives, for each type it allows.
    fn typed(&mut self, at: &str, schema: &Schema) -> Result<Vec<Schema>, Blocked> {
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
        for name in types {
            let mark = self.report.mark();
            match self.one_type(at, name, schema) {
                Ok(form) => forms.push(form),
                Err(why) => {
                    self.report.back_to(mark);
                    reasons.extend(why);
                }
            }
        }
        if forms.is_empty() && reasons.is_empty() {
            return blocked(at, "", "any value is accepted here");
        }
        self.leave_out(&forms, reasons)?;
        Ok(forms)
    }

    /// Forms that cannot be said are left out while another one remains. Null is not enough: the field would be
    /// there and good for nothing.
    fn leave_out(&mut self, kept: &[Schema], reasons: Blocked) -> Result<(), Blocked> {
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

    /// The values of `enum` or `const` that fit everything else the schema says.
    fn listed(&mut self, at: &str, schema: &Schema) -> Result<Schema, Blocked> {
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
        let mut form = Schema::from_iter([("type".to_owned(), numbers::types_of(&values))]);
        match values.as_slice() {
            [one] if single.is_some() => form.insert("const".to_owned(), one.clone()),
            _ => form.insert("enum".to_owned(), Value::Array(values)),
        };
        Ok(form)
    }

    fn string(&mut self, at: &str, schema: &Schema) -> Result<Schema, Blocked> {
        let trivial = |keyword: &str, value: &Value| keyword == "minLength" && value.as_f64() == Some(0.0);
        for keyword in ["minLength", "maxLength", "pattern"] {
            if schema.get(keyword).is_some_and(|value| !trivial(keyword, value)) {
                return blocked(at, keyword, "strict mode has no bounds on strings");
            }
        }
        for keyword in ["contentEncoding", "contentMediaType"] {
            if self.dialect.asserts_formats() && schema.contains_key(keyword) {
                return blocked(at, keyword, "this draft checks it, and strict mode cannot say it");
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

    fn number(&mut self, at: &str, name: &str, schema: &Schema) -> Result<Schema, Blocked> {
        if name == "integer" && self.dialect == Dialect::Draft4 {
            return blocked(at, "type", "in draft 4, 1.0 is no integer; in every strict mode it is one");
        }
        let bounds: Vec<&str> =
            numbers::BOUNDS.into_iter().filter(|bound| schema.contains_key(*bound)).collect();
        let Some(first) = bounds.first() else {
            return Ok(Schema::from_iter([("type".to_owned(), json!(name))]));
        };
        let Some(values) = numbers::whole_numbers(schema, self.dialect) else {
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

    fn array(&mut self, at: &str, schema: &Schema) -> Result<Schema, Blocked> {
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

    /// What a schema says to people, put where the model reads it.
    fn notes(&mut self, at: &str, schema: &Schema, form: &mut Schema) {
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

/// A branch with what the schema around it says.
fn with_base(branch: &Value, base: &Schema) -> Value {
    let Value::Object(branch) = branch else { return branch.clone() };
    let mut whole = base.clone();
    let mut rest = branch.clone();
    let inner = rest.shift_remove("allOf");
    let looks_around = rest.keys().any(|keyword| keyword.starts_with("unevaluated"));
    let left = if looks_around { std::mem::take(&mut rest) } else { merge(&mut whole, rest) };
    let mut parts: Vec<Value> = inner.and_then(|inner| inner.as_array().cloned()).unwrap_or_default();
    if !left.is_empty() {
        parts.push(Value::Object(left));
    }
    if !parts.is_empty() {
        whole.insert("allOf".to_owned(), Value::Array(parts));
    }
    let mut whole = Value::Object(whole);
    fold(&mut whole);
    whole
}

/// How many values a schema is made of.
fn size(schema: &Schema) -> usize {
    let mut count = 1;
    let mut stack: Vec<&Value> = schema.values().collect();
    while let Some(value) = stack.pop() {
        count += 1;
        match value {
            Value::Array(items) => stack.extend(items),
            Value::Object(map) => stack.extend(map.values()),
            _ => {}
        }
    }
    count
}

/// Why a schema that is no object has no strict form.
fn boolean(schema: &Value) -> &'static str {
    if *schema == json!(false) { "nothing is accepted here" } else { "any value is accepted here" }
}

fn apart(forms: &[Schema], other: &Value) -> bool {
    forms.iter().all(|form| disjoint(form, other))
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
    if says(&numbers::BOUNDS) {
        types.push("number");
    }
    types
}
