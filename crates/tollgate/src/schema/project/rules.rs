//! What providers refuse, as code: written from their documentation, and knowing nothing of the projector.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Provider, Target};
use crate::schema::{dialect::Dialect, merge::type_names, walk::each_child};

/// Every rule of the provider that a schema breaks, in words. Empty means it will be taken.
pub fn check_provider_rules(schema: &Value, target: Target) -> Vec<String> {
    let mut broken = Vec::new();
    let Value::Object(root) = schema else {
        return vec!["the schema must be an object".to_owned()];
    };
    if root.get("type").and_then(Value::as_str) != Some("object") {
        broken.push("the root must have type object".to_owned());
    }
    for keyword in ["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const"] {
        if root.contains_key(keyword) {
            broken.push(format!("the root must not have {keyword}"));
        }
    }
    let mut check = Check { target, broken, fields: 0, values: 0, text: 0 };
    check.schema(schema, "", 1);
    check.totals();
    check.broken
}

/// The formats a provider's strict mode knows.
pub(super) fn formats(provider: Provider) -> &'static [&'static str] {
    const COMMON: [&str; 9] =
        ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
    const WITH_URI: [&str; 10] =
        ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];
    match provider {
        Provider::Anthropic => &WITH_URI,
        Provider::OpenAiResponses | Provider::OpenAiChat => &COMMON,
    }
}

const REFERENCES: [&str; 8] =
    ["$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions", "$id", "$anchor", "$dynamicAnchor"];

/// What both strict modes refuse, wherever it stands.
const NOT_STRICT: [&str; 24] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "not",
    "if",
    "then",
    "else",
    "oneOf",
    "allOf",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "contains",
];

struct Check {
    target: Target,
    broken: Vec<String>,
    fields: usize,
    values: usize,
    text: usize,
}

impl Check {
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) {
        let Value::Object(map) = schema else {
            if self.target.strict {
                self.broke(at, "strict schemas are objects");
            }
            return;
        };
        for keyword in REFERENCES {
            if map.contains_key(keyword) {
                self.broke(at, &format!("has {keyword}"));
            }
        }
        let types = map.get("type").map(type_names).unwrap_or_default();
        let openai = self.target.provider != Provider::Anthropic;
        if openai && types.contains(&"array") && !map.contains_key("items") {
            self.broke(at, "an array needs items");
        }
        if openai && types.contains(&"object") && !map.contains_key("properties") {
            self.broke(at, "an object needs properties");
        }
        if !openai {
            let fields = map.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (name, _) in fields.filter(|(name, _)| !is_legal_key(name)) {
                self.broke(at, &format!("the key {name:?} is not legal"));
            }
        }
        if self.target.strict {
            self.strict(map, &types, at, depth);
        }
        each_child(map, Dialect::Draft2020, &mut |place, child| {
            if child.is_boolean() && place == "/additionalProperties" {
                return;
            }
            let inner = depth + usize::from(place.starts_with("/properties") || place.starts_with("/items"));
            self.schema(child, &format!("{at}{place}"), inner);
        });
    }

    fn strict(&mut self, map: &Map<String, Value>, types: &[&str], at: &str, depth: usize) {
        let openai = self.target.provider != Provider::Anthropic;
        for keyword in NOT_STRICT.into_iter().chain(["uniqueItems"]) {
            if map.contains_key(keyword) {
                self.broke(at, &format!("strict mode has no {keyword}"));
            }
        }
        if !["type", "anyOf", "enum", "const"].iter().any(|keyword| map.contains_key(*keyword)) {
            self.broke(at, "strict mode wants a type");
        }
        if types.contains(&"object") && map.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.broke(at, "strict mode wants additionalProperties: false");
        }
        if let Some(format) = map.get("format").and_then(Value::as_str)
            && !formats(self.target.provider).contains(&format)
        {
            self.broke(at, &format!("strict mode does not know the format {format:?}"));
        }
        if !openai {
            let least = map.get("minItems").and_then(Value::as_f64);
            if least.is_some_and(|least| least > 1.0) || map.contains_key("maxItems") {
                self.broke(at, "strict mode bounds lists by minItems 0 or 1 only");
            }
            return;
        }
        if map.contains_key("default") {
            self.broke(at, "strict mode has no default");
        }
        let fields = map.get("properties").and_then(Value::as_object);
        let required: HashSet<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, _) in fields.into_iter().flatten() {
            self.fields += 1;
            self.text += name.len();
            if !required.contains(&name.as_str()) {
                self.broke(at, &format!("strict mode requires every key, and {name:?} is not required"));
            }
        }
        for value in map.get("enum").and_then(Value::as_array).into_iter().flatten() {
            self.values += 1;
            self.text += value.as_str().map_or(0, str::len);
        }
        if depth > 10 {
            self.broke(at, "strict mode ends at 10 levels");
        }
    }

    /// Limits on a whole schema, which only one of the strict modes has.
    fn totals(&mut self) {
        let limits = [
            (self.fields, 5_000, "properties"),
            (self.values, 1_000, "listed values"),
            (self.text, 120_000, "characters in names and listed values"),
        ];
        for (count, most, what) in limits {
            if count > most {
                self.broke("", &format!("strict mode ends at {most} {what}, and there are {count}"));
            }
        }
    }

    fn broke(&mut self, at: &str, rule: &str) {
        self.broken.push(format!("at {at:?}: {rule}"));
    }
}

fn is_legal_key(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    !name.is_empty() && name.len() <= 64 && name.chars().all(legal)
}
