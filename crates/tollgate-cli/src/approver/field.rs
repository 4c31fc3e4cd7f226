//! One field of a server's form: what it is, what may be typed, and what that then means.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::words::visible;

/// A field.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    title: String,
    about: String,
    kind: Kind,
    required: bool,
    /// What counts where nothing is typed.
    pub(super) otherwise: Option<Value>,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Text,
    Number,
    Whole,
    YesNo,
    /// One of these: what is sent, and what a person reads.
    One(Vec<(String, String)>),
    /// Several of these.
    Several(Vec<(String, String)>),
}

impl Field {
    /// The fields of a requested schema, or why it is no form.
    pub(super) fn all(schema: Option<&Value>, most: usize) -> Result<Vec<Self>, String> {
        let Some(properties) = schema.and_then(|schema| schema.get("properties")) else {
            return Ok(Vec::new());
        };
        let properties = properties.as_object().ok_or("its fields are no object")?;
        if properties.len() > most {
            return Err(format!("it has {} fields, more than {most}", properties.len()));
        }
        let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|required| required.iter().any(|one| one == name));
        properties.iter().map(|(name, about)| Self::read_from(name, about, is_required(name))).collect()
    }

    fn read_from(name: &str, schema: &Value, required: bool) -> Result<Self, String> {
        let word = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = match word("type").as_str() {
            "array" => Kind::Several(
                choices(schema.get("items").unwrap_or(&Value::Null))
                    .ok_or_else(|| format!("{name:?} is no list of choices"))?,
            ),
            "string" | "" if choices(schema).is_some() => Kind::One(choices(schema).unwrap_or_default()),
            "string" => Kind::Text,
            "number" => Kind::Number,
            "integer" => Kind::Whole,
            "boolean" => Kind::YesNo,
            other => return Err(format!("{name:?} is of the kind {other:?}, which no form has")),
        };
        let otherwise = schema.get("default").filter(|value| !value.is_null()).cloned();
        Ok(Self {
            name: name.to_owned(),
            title: word("title"),
            about: word("description"),
            kind,
            required,
            otherwise,
        })
    }

    /// The field on one line.
    pub(super) fn described(&self) -> String {
        let title =
            if self.title.is_empty() { String::new() } else { format!(" ({})", visible(&self.title)) };
        let kind = match &self.kind {
            Kind::Text => "text",
            Kind::Number => "a number",
            Kind::Whole => "a whole number",
            Kind::YesNo => "yes or no",
            Kind::One(_) => "one of a list",
            Kind::Several(_) => "some of a list",
        };
        let need = if self.required { "" } else { ", may be left out" };
        format!("{}{title}: {kind}{need}", visible(&self.name))
    }

    /// The field as it is asked for, with what may be chosen.
    pub(super) fn shown(&self) -> String {
        let mut text = format!("{}\n", self.described());
        if !self.about.is_empty() {
            let about: String = self.about.chars().take(400).collect();
            let _ = writeln!(text, "  {}", visible(&about));
        }
        if let Kind::One(choices) | Kind::Several(choices) = &self.kind {
            for (number, (value, title)) in (1..).zip(choices) {
                let beside = if title == value { String::new() } else { format!(" ({})", visible(value)) };
                let _ = writeln!(text, "  {number}  {}{beside}", visible(title));
            }
        }
        if matches!(self.kind, Kind::Several(_)) {
            text += "  numbers with commas between them\n";
        }
        text
    }

    /// A value as a person would type it.
    pub(super) fn typed(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::Array(items) => items.iter().map(Self::typed).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        }
    }

    /// What was typed, as the value it stands for; `None` where it is left out.
    pub(super) fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        if typed.is_empty() {
            return if self.required {
                Err("this cannot be left out; Esc leaves the whole unanswered".to_owned())
            } else {
                Ok(None)
            };
        }
        let value = match &self.kind {
            Kind::Text => json!(typed),
            Kind::Whole => json!(typed.parse::<i64>().map_err(|_| "a whole number is wanted")?),
            Kind::Number => {
                let number = typed.parse::<f64>().ok().filter(|number| number.is_finite());
                json!(number.ok_or("a number is wanted")?)
            }
            Kind::YesNo => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" => json!(true),
                "n" | "no" | "false" => json!(false),
                _ => return Err("yes or no is wanted".to_owned()),
            },
            Kind::One(choices) => json!(chosen(choices, typed)?),
            Kind::Several(choices) => {
                let parts = typed.split(',').map(str::trim).filter(|part| !part.is_empty());
                json!(parts.map(|part| chosen(choices, part)).collect::<Result<Vec<_>, _>>()?)
            }
        };
        Ok(Some(value))
    }
}

/// The choice that was meant: by its own words, or by the number it stands beside.
fn chosen<'a>(choices: &'a [(String, String)], typed: &str) -> Result<&'a str, String> {
    let by_word = choices.iter().find(|(value, title)| value == typed || title.eq_ignore_ascii_case(typed));
    let by_number = || typed.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let found = by_word.or_else(by_number).map(|(value, _)| value.as_str());
    found.ok_or_else(|| format!("one of the {} is wanted, by its number or its words", choices.len()))
}

/// What a schema lets one choose from, in each way the protocol has had.
fn choices(schema: &Value) -> Option<Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(titled) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array) {
        let one = |choice: &Value| {
            let value = text(choice.get("const")?)?;
            let title = choice.get("title").and_then(text).unwrap_or_else(|| value.clone());
            Some((value, title))
        };
        return titled.iter().map(one).collect();
    }
    let values = schema.get("enum")?.as_array()?;
    let names = schema.get("enumNames").and_then(Value::as_array);
    let one = |(at, value): (usize, &Value)| {
        let value = text(value)?;
        let title = names.and_then(|names| text(names.get(at)?)).unwrap_or_else(|| value.clone());
        Some((value, title))
    };
    values.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: &Value) -> Field {
        Field::read_from("f", schema, true).unwrap()
    }

    #[test]
    fn what_is_typed_means_what_the_field_is_of() {
        let colours = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
        let titled =
            json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A side"}, {"const": "b"}]}});
        for (schema, typed, value) in [
            (json!({"type": "string"}), "x y", Some(json!("x y"))),
            (json!({"type": "integer"}), "-7", Some(json!(-7))),
            (json!({"type": "integer"}), "1.5", None),
            (json!({"type": "number"}), "1.5", Some(json!(1.5))),
            (json!({"type": "number"}), "NaN", None),
            (json!({"type": "boolean"}), "Yes", Some(json!(true))),
            (json!({"type": "boolean"}), "maybe", None),
            (colours.clone(), "2", Some(json!("g"))),
            (colours.clone(), "red", Some(json!("r"))),
            (colours, "blue", None),
            (titled.clone(), "2, a side", Some(json!(["b", "a"]))),
            (titled, "3", None),
        ] {
            assert_eq!(field(&schema).read(typed).ok().flatten(), value, "{schema} {typed}");
        }
    }

    #[test]
    fn a_required_field_cannot_be_left_out_and_another_can() {
        assert!(field(&json!({"type": "string"})).read("").is_err());
        assert_eq!(Field::read_from("f", &json!({"type": "string"}), false).unwrap().read(""), Ok(None));
    }

    #[test]
    fn what_no_form_can_show_is_none() {
        for schema in [json!({"type": "object"}), json!({"type": "array", "items": {"type": "string"}})] {
            let form = json!({"properties": {"f": schema}});
            assert!(Field::all(Some(&form), 40).is_err(), "{schema}");
        }
        let many: serde_json::Map<_, _> =
            (0..50).map(|at| (format!("f{at}"), json!({"type": "string"}))).collect();
        assert!(Field::all(Some(&json!({"properties": many})), 40).is_err());
        assert_eq!(Field::all(None, 40), Ok(Vec::new()));
    }
}
