//! Values judged one by one: which whole numbers lie in a range, which listed values fit.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use crate::schema::dialect::Dialect;

/// Keywords that bound a number.
pub(super) const BOUNDS: [&str; 5] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// The most numbers that are written out as a list: about what a percentage needs.
const MOST: u8 = 128;

/// Tells whether a value fits a schema of 2020-12.
pub(super) struct Judge(Option<Validator>);

impl Judge {
    pub(super) fn new(schema: &Map<String, Value>, dialect: Dialect) -> Self {
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(dialect.asserts_formats());
        Self(options.build(&Value::Object(schema.clone())).ok())
    }

    /// True when there is something to judge by: the schema could be compiled.
    pub(super) fn is_able(&self) -> bool {
        self.0.is_some()
    }

    /// False also where the schema cannot be compiled.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.0.as_ref().is_some_and(|validator| validator.is_valid(value))
    }
}

/// The whole numbers within the bounds, where they are few.
pub(super) fn whole_numbers(schema: &Map<String, Value>, dialect: Dialect) -> Option<Vec<i64>> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let low = bound("minimum").into_iter().chain(bound("exclusiveMinimum")).reduce(f64::max)?;
    let high = bound("maximum").into_iter().chain(bound("exclusiveMaximum")).reduce(f64::min)?;
    // Far beyond what a list could hold, floats are not exact any more either.
    if low.abs() > 1e15 || high.abs() > 1e15 || high - low > f64::from(MOST) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "both are far inside the range of i64")]
    let (low, high) = (low.floor() as i64, high.ceil() as i64);
    // The ends may be excluded, or no whole numbers, so every candidate is judged.
    let judge = Judge::new(&bounds_of(schema), dialect);
    let numbers: Vec<i64> = (low..=high).filter(|number| judge.accepts(&json!(number))).collect();
    (!numbers.is_empty() && numbers.len() <= usize::from(MOST)).then_some(numbers)
}

fn bounds_of(schema: &Map<String, Value>) -> Map<String, Value> {
    let bounds = schema.iter().filter(|(keyword, _)| BOUNDS.contains(&keyword.as_str()));
    bounds.map(|(keyword, value)| (keyword.clone(), value.clone())).collect()
}

/// The types of plain values, as `type` says them.
pub(super) fn types_of(values: &[Value]) -> Value {
    let mut types: Vec<&str> = Vec::new();
    for value in values {
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if !types.contains(&name) {
            types.push(name);
        }
    }
    if types.contains(&"number") {
        types.retain(|name| *name != "integer");
    }
    match types.as_slice() {
        [one] => json!(one),
        several => json!(several),
    }
}
