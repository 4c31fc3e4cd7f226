//! A line from the model on why it calls a tool: asked for in the schema it sees, taken off before anyone validates.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserializer, de::MapAccess, de::Visitor};
use serde_json::{Value, json, value::RawValue};
use tollgate::{Proposed, wire::WireTool};

/// The field the model may fill.
pub(super) const FIELD: &str = "_purpose";

/// Longer ones are cut: it is one line for a person.
const LONGEST: usize = 300;

/// The tool with the field in its schema; `None` where it has one of that name itself.
pub(super) fn asked_for(tool: &WireTool) -> Option<WireTool> {
    let properties = tool.schema.get("properties");
    if properties.is_some_and(|properties| !properties.is_object() || properties.get(FIELD).is_some()) {
        return None;
    }
    let mut asking = tool.clone();
    let schema = asking.schema.as_object_mut()?;
    let kind = if tool.strict { json!(["string", "null"]) } else { json!("string") };
    let field = json!({"type": kind, "description": "Why you call this, in one short line for the person."});
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    properties.as_object_mut()?.insert(FIELD.to_owned(), field);
    if tool.strict {
        let required = schema.entry("required").or_insert_with(|| json!([]));
        required.as_array_mut()?.push(json!(FIELD));
    }
    Some(asking)
}

/// The call without the field, and with the purpose where it gave one. What is no JSON object stays as it is.
pub(super) fn taken_off(mut call: Proposed) -> Proposed {
    let text = call.input.as_str();
    if !text.contains(FIELD) {
        return call;
    }
    let Some(Fields(fields)) = fields_of(text) else { return call };
    let given: Vec<&RawValue> = fields.iter().filter(|(key, _)| key == FIELD).map(|(_, raw)| *raw).collect();
    // Twice is a fault like any other key that stands twice: left for validation to find.
    let [given] = given[..] else { return call };
    let purpose = match serde_json::from_str::<Value>(given.get()) {
        Ok(Value::String(words)) => Some(one_line(&words)).filter(|words| !words.is_empty()),
        Ok(Value::Null) => None,
        // Not ours to drop: the schema says it is a string.
        _ => return call,
    };
    let rest = fields.iter().filter(|(key, _)| key != FIELD);
    let rest: Vec<String> = rest.map(|(key, raw)| format!("{}:{}", Value::from(&**key), raw.get())).collect();
    call.input = format!("{{{}}}", rest.join(",")).into();
    call.purpose = purpose.map(Arc::from);
    call
}

fn one_line(words: &str) -> String {
    let line: Vec<&str> =
        words.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()).collect();
    tollgate::json::shorten(&line.join(" "), LONGEST)
}

/// The fields of an object, in order, whatever is in them, also those that stand twice.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

fn fields_of(text: &str) -> Option<Fields<'_>> {
    struct Reader;

    impl<'de> Visitor<'de> for Reader {
        type Value = Fields<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
            let mut fields = Vec::new();
            while let Some(key) = map.next_key::<String>()? {
                fields.push((Cow::Owned(key), map.next_value::<&'de RawValue>()?));
            }
            Ok(Fields(fields))
        }
    }

    let mut reader = serde_json::Deserializer::from_str(text);
    let fields = reader.deserialize_map(Reader).ok()?;
    reader.end().ok().map(|()| fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(input: &str) -> (String, Option<String>) {
        let call = taken_off(Proposed::new("c1", "read_file", input));
        (call.input.as_str().to_owned(), call.purpose.as_deref().map(str::to_owned))
    }

    #[test]
    fn the_purpose_is_taken_off_and_the_rest_stays_to_the_letter() {
        let cases = [
            (r#"{"path":"a","_purpose":"see it"}"#, r#"{"path":"a"}"#, Some("see it")),
            (r#"{"_purpose":"x\ny","n":1.0e2}"#, r#"{"n":1.0e2}"#, Some("x y")),
            (r#"{"_purpose":null}"#, "{}", None),
            (r#"{"a":1,"a":2,"_purpose":"p"}"#, r#"{"a":1,"a":2}"#, Some("p")),
        ];
        for (input, rest, purpose) in cases {
            assert_eq!(off(input), (rest.to_owned(), purpose.map(str::to_owned)), "{input}");
        }
    }

    #[test]
    fn what_is_malformed_is_left_for_validation_to_find() {
        for input in [
            r#"{"_purpose":"a","_purpose":"b"}"#,
            r#"{"_purpose":7}"#,
            r#"{"_purpose":"a""#,
            r#"["_purpose"]"#,
            r#"{"path":"_purpose"}"#,
        ] {
            assert_eq!(off(input), (input.to_owned(), None), "{input}");
        }
    }

    #[test]
    fn a_tool_with_a_field_of_that_name_keeps_its_own() {
        let tool = |schema| WireTool {
            name: "t".into(),
            description: String::new(),
            schema,
            strict: false,
            defer: false,
        };
        assert!(asked_for(&tool(json!({"type": "object", "properties": {"_purpose": {}}}))).is_none());
        let asking = asked_for(&tool(json!({"type": "object"}))).unwrap();
        assert_eq!(asking.schema["properties"][FIELD]["type"], "string");
    }
}
