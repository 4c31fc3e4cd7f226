//! Where a schema is silent about further fields, it means none: a mistyped field is an error, not a no-op.

use serde_json::{Map, Value};

use super::{
    branching::Branching, dialect::Dialect, flatten::flatten, formats::is_checked, modern::modern,
    walk::each_child_mut,
};

/// A schema that is closed wherever it names properties and says nothing of others.
pub(crate) struct Closed {
    /// What it asks of a value; what it only tells people is left out.
    pub(crate) schema: Value,
    pub(crate) formats: Formats,
    /// There is a reference in it.
    pub(crate) refers: bool,
    /// How many alternatives it has where it refers to itself.
    pub(crate) ways: u32,
}

/// Whether formats are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formats {
    /// As the draft says.
    AsDraft,
    /// Whatever the draft says.
    Checked,
}

/// The same schema, closed.
///
/// A position is closed, not a schema: the branches of `allOf` and the targets of references speak of the same
/// object together, so only the place where they come together can say what is left over. A nested object
/// without `properties` is a free map and stays one. Where alternatives lead back to themselves, what they refer to
/// stays as open as its author left it: asking there what is left over takes longer with every level.
pub(crate) fn closed(schema: &Value) -> Closed {
    let renewed = renewed(schema);
    let formats = if renewed.is_some() { Formats::Checked } else { Formats::AsDraft };
    let source = renewed.as_ref().unwrap_or(schema);
    let old = Dialect::named(source).is_some_and(|named| named.is_ok_and(Dialect::ref_stands_alone));
    let mut closer = Closer { old, refers: false, branching: Branching::of(source) };
    let schema = closer.root(source);
    Closed { schema, formats, refers: closer.refers, ways: closer.branching.ways }
}

/// A schema of draft 7 in the words of 2020-12, where it needs them to be closed: the old draft has no
/// `unevaluatedProperties`. `None` where that would change what it means, or where it refers to itself.
fn renewed(schema: &Value) -> Option<Value> {
    if Dialect::named(schema)? != Ok(Dialect::Draft7) || !composes_anywhere(schema) {
        return None;
    }
    let mut renewed = modern(flatten(schema).ok()?, Dialect::Draft7);
    forget_unchecked_formats(&mut renewed)?;
    Some(renewed)
}

/// True when a keyword that composes stands anywhere, or a word that only looks like one.
fn composes_anywhere(schema: &Value) -> bool {
    let composes = |key: &str| key == "$ref" || IN_PLACE_LISTS.contains(&key) || IN_PLACE.contains(&key);
    let mut stack = vec![schema];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(map) if map.keys().any(|key| composes(key)) => return true,
            Value::Object(map) => stack.extend(map.values()),
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    false
}

/// Drops formats that only newer drafts check. `None` where there is an encoding, which only the old one checks.
fn forget_unchecked_formats(schema: &mut Value) -> Option<()> {
    let Value::Object(map) = schema else { return Some(()) };
    if map.contains_key("contentEncoding") || map.contains_key("contentMediaType") {
        return None;
    }
    if map
        .get("format")
        .is_some_and(|format| !format.as_str().is_some_and(|name| is_checked(Dialect::Draft7, name)))
    {
        map.shift_remove("format");
    }
    let mut all = Some(());
    each_child_mut(map, Dialect::Draft2020, &mut |child| {
        all = all.and_then(|()| forget_unchecked_formats(child));
    });
    all
}

const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE: [&str; 4] = ["if", "then", "else", "not"];

/// Copies a schema, closing it on the way.
struct Closer {
    /// What stands beside a reference has no meaning.
    old: bool,
    refers: bool,
    branching: Branching,
}

/// What the schemas within a keyword speak of.
#[derive(Clone, Copy)]
enum About {
    /// A place of their own in the value.
    Part,
    /// The same place as the schema around them, or any.
    Same,
}

impl Closer {
    /// The whole: its arguments are an object with properties, whether it says so or not.
    fn root(&mut self, schema: &Value) -> Value {
        let Value::Object(map) = schema else { return schema.clone() };
        let mut copy = self.map(map);
        if !copy.contains_key("properties") {
            copy.insert("properties".to_owned(), Value::Object(Map::new()));
        }
        self.close(&mut copy);
        Value::Object(copy)
    }

    fn schema(&mut self, schema: &Value, about: About) -> Value {
        let Value::Object(map) = schema else { return schema.clone() };
        let mut copy = self.map(map);
        if let About::Part = about {
            self.close(&mut copy);
        }
        Value::Object(copy)
    }

    /// Closes what lies below a schema, but not the schema itself.
    fn map(&mut self, map: &Map<String, Value>) -> Map<String, Value> {
        let mut copy = Map::with_capacity(map.len() + 1);
        for (key, value) in map {
            if let Some(value) = self.member(key, value) {
                copy.insert(key.clone(), value);
            }
        }
        copy
    }

    fn member(&mut self, key: &str, value: &Value) -> Option<Value> {
        Some(match (key, value) {
            // Words for people: a validator would copy and check them for nothing.
            ("description" | "title" | "$comment", Value::String(_)) => return None,
            ("properties" | "patternProperties", Value::Object(entries)) => {
                self.entries(entries, About::Part)
            }
            ("$defs" | "definitions" | "dependentSchemas", Value::Object(entries)) => {
                self.entries(entries, About::Same)
            }
            ("prefixItems" | "items", Value::Array(items)) => self.list(items, About::Part),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => self.list(parts, About::Same),
            (
                "items" | "additionalItems" | "additionalProperties" | "contains" | "unevaluatedItems",
                child,
            ) => self.schema(child, About::Part),
            ("if" | "then" | "else" | "not", part) => self.schema(part, About::Same),
            ("$ref" | "$dynamicRef" | "$recursiveRef", reference) => {
                self.refers = true;
                reference.clone()
            }
            (_, other) => other.clone(),
        })
    }

    fn entries(&mut self, entries: &Map<String, Value>, about: About) -> Value {
        let mut copy = Map::with_capacity(entries.len());
        for (name, schema) in entries {
            copy.insert(name.clone(), self.schema(schema, about));
        }
        Value::Object(copy)
    }

    fn list(&mut self, schemas: &[Value], about: About) -> Value {
        schemas.iter().map(|schema| self.schema(schema, about)).collect()
    }

    /// Closes a schema that stands at a place of its own in the value.
    fn close(&self, map: &mut Map<String, Value>) {
        // One pass over the keys: looking up a dozen words one by one costs more than all the rest.
        let (mut named, mut composed) = (false, false);
        for key in map.keys() {
            match key.as_str() {
                "additionalProperties" | "unevaluatedProperties" => return,
                "properties" => named = true,
                "allOf" | "anyOf" | "oneOf" | "if" | "then" | "else" | "not" | "dependentSchemas"
                | "$ref" => composed = true,
                _ => {}
            }
        }
        if !composed {
            if named {
                map.insert("additionalProperties".into(), Value::Bool(false));
            }
        } else if !self.old && !self.leads_back(map) && (named || composes_objects(map)) {
            map.insert("unevaluatedProperties".into(), Value::Bool(false));
        }
    }
}

impl Closer {
    /// True when what the schema is composed of leads back to alternatives that lead back to themselves.
    fn leads_back(&self, map: &Map<String, Value>) -> bool {
        let composed = ["$ref", "dependentSchemas"].iter().chain(&IN_PLACE_LISTS).chain(&IN_PLACE);
        self.branching.ways > 0
            && composed
                .filter_map(|key| map.get_key_value(*key))
                .any(|(key, value)| self.refers_back(key, value))
    }

    fn refers_back(&self, key: &str, value: &Value) -> bool {
        match value {
            Value::String(reference) => key == "$ref" && self.branching.references.contains(reference),
            Value::Object(map) => map.iter().any(|(key, value)| self.refers_back(key, value)),
            Value::Array(items) => items.iter().any(|item| self.refers_back(key, item)),
            _ => false,
        }
    }
}

/// True when a part of the composition names properties, or may do so behind a reference.
fn composes_objects(map: &Map<String, Value>) -> bool {
    let lists = IN_PLACE_LISTS.iter().filter_map(|key| map.get(*key)?.as_array()).flatten();
    map.contains_key("$ref")
        || lists.chain(map.get("then")).chain(map.get("else")).any(|part| {
            part.as_object().is_some_and(|part| part.contains_key("properties") || composes_objects(part))
        })
}
