//! Several forms of one value: each with what stands around it, those that cannot be said left out.

use serde_json::Value;

use super::{
    disjoint::disjoint,
    narrow::{Blocked, Narrow, Schema, blocked, boolean, with_article},
};
use crate::schema::{
    merge::{accepts_everything, merge, type_names},
    simplify::fold,
};

impl Narrow<'_> {
    /// The forms of all branches together. One that cannot be said is left out while another remains.
    pub(super) fn alternatives(
        &mut self,
        at: &str,
        keyword: &str,
        schema: &Schema,
        branches: &[Value],
    ) -> Result<Vec<Schema>, Blocked> {
        if branches.is_empty() {
            return blocked(at, keyword, "nothing is accepted here");
        }
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
        let mut lost = Vec::new();
        for (number, branch) in whole.iter().enumerate() {
            let place = format!("{at}/{keyword}/{number}");
            let others =
                whole.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, other)| other);
            let (mark, lost_before) = (self.report.mark(), self.lost.len());
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
                    self.lost.truncate(lost_before);
                    reasons.extend(why);
                    lost.push(kind(branch));
                }
            }
        }
        self.leave_out(&forms, reasons, lost)?;
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
}

/// What a branch is, in two words.
fn kind(branch: &Value) -> String {
    match branch.get("type").map(type_names).as_deref() {
        Some([name]) => with_article(name),
        _ => "another form".to_owned(),
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

fn apart(forms: &[Schema], other: &Value) -> bool {
    forms.iter().all(|form| disjoint(form, other))
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
