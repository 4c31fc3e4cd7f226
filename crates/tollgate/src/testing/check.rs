//! A mock's own rules: a value at a place must match a pattern, or must not.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use super::{Why, fields::Fields};
use crate::outcome::Refusal;

/// The rules of one tool, in order; the first that is broken refuses.
pub(super) struct Checks(Vec<Check>);

struct Check {
    pointer: String,
    // This engine is linear: no pattern of a file can stall a call.
    pattern: Regex,
    must_match: bool,
    message: String,
}

impl Checks {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, Why> {
        let list = fields.list("check")?.unwrap_or_default();
        list.iter().enumerate().map(|(index, value)| check(index, value)).collect::<Result<_, _>>().map(Self)
    }

    /// A value that is absent is not checked: whether it must be there is the schema's affair.
    pub(super) fn hold(&self, args: &Value) -> Result<(), Refusal> {
        let broken = self.0.iter().find(|check| {
            let text = args.pointer(&check.pointer).map(text_of);
            text.is_some_and(|text| check.pattern.is_match(&text) != check.must_match)
        });
        broken.map_or(Ok(()), |check| Err(Refusal::invalid_value(&check.pointer, &check.message)))
    }
}

fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn check(index: usize, value: &Value) -> Result<Check, Why> {
    let place = format!("check[{index}]");
    let fields = Fields::inside(&place, value)?;
    let pointer = fields.pointer("pointer")?.ok_or_else(|| fields.needs("`pointer`"))?;
    let (pattern, must_match) = match (fields.text("matches")?, fields.text("not_matches")?) {
        (Some(pattern), None) => (pattern, true),
        (None, Some(pattern)) => (pattern, false),
        _ => return Err(fields.needs("exactly one of `matches` and `not_matches`")),
    };
    let compiled = Regex::new(pattern).map_err(|error| {
        Why::Field(format!("the pattern of `{place}` cannot be used: {}", one_line(&error)))
    })?;
    let message = fields.text("message")?.map_or_else(
        || format!("it must {}match {pattern}", if must_match { "" } else { "not " }),
        str::to_owned,
    );
    Ok(Check { pointer: pointer.to_owned(), pattern: compiled, must_match, message })
}

/// The last line of the parser's words says what is wrong; the others draw an arrow.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}
