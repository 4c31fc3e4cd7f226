//! Violations of a schema in words a model can act on: where, what was expected, what came.

use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use crate::{json::shorten, outcome::Violation};

/// More than this many are not told one by one; the last one says how many there are.
const MOST: usize = 20;

/// No more errors of the validator are looked at.
const LOOKED_AT: usize = 1_000;

/// How much of an offending value is quoted.
const QUOTED: usize = 60;

/// Every violation in words. `names` are the property names the schema knows.
pub(crate) fn violations(validator: &Validator, value: &Value, names: &[String]) -> Vec<Violation> {
    let (mut told, mut more) = (Vec::new(), 0);
    let errors: Vec<_> = validator.iter_errors(value).take(LOOKED_AT).collect();
    for error in &errors {
        more += explain(error, &errors, names, &mut told);
    }
    if more > 0 {
        told.push(Violation {
            pointer: String::new(),
            message: format!("and {more} more violations of the same schema"),
            did_you_mean: None,
        });
    }
    told
}

/// Tells what is wrong for as long as there is room, and says how much more there is.
fn explain(
    error: &ValidationError<'_>,
    all: &[ValidationError<'_>],
    names: &[String],
    told: &mut Vec<Violation>,
) -> usize {
    let room = MOST.saturating_sub(told.len());
    let pointer = error.instance_path().to_string();
    match error.kind() {
        // One error of the validator, and as many violations as there are unknown fields.
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let missing = || missing_beside(error, all);
            let unknown = unexpected.iter().take(room);
            told.extend(unknown.map(|field| unknown_field(&pointer, field, missing(), names)));
            unexpected.len().saturating_sub(room)
        }
        _ if room == 0 => 1,
        kind => {
            let did_you_mean = nearest_option(kind, error);
            told.push(Violation { message: words(kind, error), pointer, did_you_mean });
            0
        }
    }
}

/// The required fields that are missing where this error is.
fn missing_beside<'a>(
    error: &'a ValidationError<'_>,
    all: &'a [ValidationError<'_>],
) -> impl Iterator<Item = &'a str> {
    let beside = all.iter().filter(|other| other.instance_path() == error.instance_path());
    beside.filter_map(|other| match other.kind() {
        Kind::Required { property } => property.as_str(),
        _ => None,
    })
}

/// A missing field that this one is short for was meant; else the one that is nearest.
fn unknown_field<'a>(
    parent: &str,
    field: &str,
    mut missing: impl Iterator<Item = &'a str>,
    names: &[String],
) -> Violation {
    let meant = missing.find(|name| is_short_for(field, name));
    // The names are those of every level: the very same one, further in or out, is no advice.
    let others = names.iter().map(String::as_str).filter(|name| *name != field);
    let near = meant.or_else(|| nearest(field, others)).map(str::to_owned);
    let message = match &near {
        Some(near) => format!("there is no field {:?}; did you mean {near:?}?", shorten(field, QUOTED)),
        None => format!("there is no field {:?}; remove it", shorten(field, QUOTED)),
    };
    let escaped = shorten(field, QUOTED).replace('~', "~0").replace('/', "~1");
    Violation { pointer: format!("{parent}/{escaped}"), message, did_you_mean: near }
}

fn words(kind: &Kind, error: &ValidationError<'_>) -> String {
    let came = quoted(error.instance());
    match kind {
        Kind::Required { property } => format!("the required field {property} is missing"),
        Kind::Type { kind } => format!("expected {}, came {} {came}", types(kind), type_of(error.instance())),
        Kind::Enum { options } => format!("expected one of {}, came {came}", quoted(options)),
        Kind::Constant { expected_value } => format!("expected {}, came {came}", quoted(expected_value)),
        Kind::Minimum { limit } => format!("expected at least {limit}, came {came}"),
        Kind::Maximum { limit } => format!("expected at most {limit}, came {came}"),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}, came {came}"),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}, came {came}"),
        Kind::MultipleOf { multiple_of } => format!("expected a multiple of {multiple_of}, came {came}"),
        Kind::MinLength { limit } => format!("expected at least {limit} characters, came {came}"),
        Kind::MaxLength { limit } => {
            format!("expected at most {limit} characters, came {}", length(error.instance()))
        }
        Kind::MinItems { limit } => {
            format!("expected at least {limit} items, came {}", length(error.instance()))
        }
        Kind::MaxItems { limit } => {
            format!("expected at most {limit} items, came {}", length(error.instance()))
        }
        Kind::MinProperties { limit } => {
            format!("expected at least {limit} fields, came {}", length(error.instance()))
        }
        Kind::MaxProperties { limit } => {
            format!("expected at most {limit} fields, came {}", length(error.instance()))
        }
        Kind::Pattern { pattern } => format!("expected a text that matches {pattern}, came {came}"),
        Kind::Format { format } => format!("expected the format {format}, came {came}"),
        Kind::UniqueItems => "the items must differ from each other".to_owned(),
        Kind::FalseSchema => "nothing is accepted here; remove it".to_owned(),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "the text is too complex for this field's pattern; send a simpler one".to_owned()
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let near = context.iter().min_by_key(|branch| branch.len()).and_then(|branch| branch.first());
            match near {
                Some(first) => format!(
                    "fits none of the accepted forms; for the nearest one, at {:?}: {}",
                    first.instance_path().to_string(),
                    words(first.kind(), first)
                ),
                None => format!("fits none of the accepted forms, came {came}"),
            }
        }
        _ => shorten(&error.to_string(), 200),
    }
}

fn nearest_option(kind: &Kind, error: &ValidationError<'_>) -> Option<String> {
    let (Kind::Enum { options }, Some(came)) = (kind, error.instance().as_str()) else { return None };
    nearest(came, options.as_array()?.iter().filter_map(Value::as_str)).map(str::to_owned)
}

/// The candidate nearest to `name`, where one is near enough to be what was meant.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A long name is never a typing slip, and comparing costs the product of both lengths.
    if name.len() > 200 {
        return None;
    }
    let folded = |text: &str| text.to_lowercase().replace(['-', '_', ' ', '.'], "");
    let wanted = folded(name);
    candidates
        .filter_map(|candidate| {
            let other = folded(candidate);
            let distance = strsim::osa_distance(&wanted, &other);
            let longer = wanted.chars().count().max(other.chars().count());
            (distance * 3 <= longer).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// True for `cmd` and `command`: the same beginning, and every letter in order.
fn is_short_for(short: &str, name: &str) -> bool {
    let mut rest = name.chars();
    let in_order = short.chars().all(|c| rest.any(|other| other.eq_ignore_ascii_case(&c)));
    let begins = |text: &str| text.chars().next().map(|c| c.to_ascii_lowercase());
    in_order && short.len() > 1 && begins(short) == begins(name)
}

/// Every property name that stands anywhere in a schema.
pub(crate) fn property_names(schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    let mut stack = vec![schema];
    while let Some(schema) = stack.pop() {
        match schema {
            Value::Object(map) => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    names.extend(properties.keys().cloned());
                }
                stack.extend(map.values());
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    names
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => article(&one.to_string()),
        TypeKind::Multiple(set) => {
            let names: Vec<_> = set.iter().map(|one| article(&one.to_string())).collect();
            names.join(" or ")
        }
    }
}

fn article(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "",
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::String(_) => "the string",
        Value::Array(_) => "the array",
        Value::Object(_) => "the object",
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    }
}

/// A value as JSON, its first characters only. Never writes more than a little of a huge one.
fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() > 4 * QUOTED => {
            let start: String = text.chars().take(QUOTED).collect();
            format!("{}… ({} characters)", Value::String(start), text.chars().count())
        }
        Value::Array(items) if items.len() > QUOTED => format!("an array of {} items", items.len()),
        Value::Object(map) if map.len() > QUOTED => format!("an object of {} fields", map.len()),
        value => shorten(&value.to_string(), 4 * QUOTED),
    }
}
