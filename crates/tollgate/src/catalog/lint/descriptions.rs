//! What a model is told of a tool and its arguments.

use serde_json::Value;

use super::{Finding, Subject, subject::some_of};

/// Fewer characters say nothing a name does not.
const THIN: usize = 20;

pub(super) fn thin_description(subject: Subject<'_>) -> Option<Finding> {
    let description = subject.spec.description.trim();
    let plain =
        |text: &str| -> String { text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect() };
    let fix = "say in a sentence or two what it does, when to use it and what it returns.";
    if description.is_empty() {
        return subject.warns("thin_description", "it has no description".to_owned(), fix);
    }
    let repeats = plain(description) == plain(subject.spec.name());
    if description.chars().count() >= THIN && !repeats {
        return None;
    }
    let what = if repeats { "repeats the name" } else { "is very short" };
    subject.warns("thin_description", format!("its description {what}: {description:?}"), fix)
}

pub(super) fn undescribed_arguments(subject: Subject<'_>) -> Option<Finding> {
    let described = |schema: &Value| {
        // What is referred to may have the description.
        schema.get("$ref").is_some()
            || schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    };
    let silent = |(name, schema): (&String, &Value)| (!described(schema)).then(|| format!("`{name}`"));
    let names: Vec<_> = subject.properties()?.iter().filter_map(silent).collect();
    if names.is_empty() {
        return None;
    }
    let fix = "give each argument a `description`: what it is, its unit or form, an example.";
    subject.warns("undescribed_arguments", format!("no description of {}", some_of(&names)), fix)
}

/// More choices than these are left to chance.
const MOST_OPTIONAL: usize = 8;

pub(super) fn many_optional_fields(subject: Subject<'_>) -> Option<Finding> {
    let properties = subject.properties()?;
    let required = subject.spec.input_schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|item| item == name));
    let optional = properties.keys().filter(|name| !is_required(name)).count();
    if optional <= MOST_OPTIONAL {
        return None;
    }
    let message = format!("{optional} optional arguments, more than {MOST_OPTIONAL}");
    subject.warns("many_optional_fields", message, "make a tool for each common use, with the rest fixed.")
}
