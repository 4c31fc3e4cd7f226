//! One tool of a server's list, read with care: what it says is kept for the hash, what is shown is harmless.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::Digest as _;
use tollgate::{
    json::canonical,
    outcome::{hex, visible},
    tool::ToolName,
};

use super::poison;
use crate::config::Limits;

/// A tool as its server defines it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    pub(crate) name: ToolName,
    /// The parts that count, exactly as the server said them.
    pub(crate) said: Value,
    /// Over all of `said`, whatever is cut for showing.
    pub(crate) hash: Arc<str>,
    /// For the model: cut, hidden characters made visible.
    pub(crate) description: Arc<str>,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    pub(crate) hints: Hints,
    /// What a person should look at.
    pub(crate) warnings: Vec<String>,
}

/// What a server says of its tool's effects. Believed only where the server is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol's four hints")]
pub(crate) struct Hints {
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
}

/// What counts in a definition: a change of anything else is none.
const PARTS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// No schema is larger.
const LARGEST_SCHEMA: usize = 512 << 10;

impl Definition {
    /// Reads one entry of the list, or says which it is and why it cannot be used.
    pub(crate) fn read(entry: &Value, at: usize, limits: &Limits) -> Result<Self, (String, String)> {
        let Some(given) = entry.get("name").and_then(Value::as_str) else {
            return Err((format!("tools[{at}]"), "it has no name".to_owned()));
        };
        let shown: String = visible(given).chars().take(80).collect();
        Self::understand(given, entry, limits).map_err(|why| (shown, why))
    }

    fn understand(given: &str, entry: &Value, limits: &Limits) -> Result<Self, String> {
        let name = ToolName::new(given).map_err(|error| error.to_string())?;
        // `__` stands between a server and its tool: inside a name it could pass for another server's tool.
        if given.contains("__") {
            return Err("its name holds `__`, by which it could pass for another server's tool".to_owned());
        }
        let said: Map<String, Value> =
            PARTS.iter().filter_map(|part| Some(((*part).to_owned(), entry.get(*part)?.clone()))).collect();
        let said = Value::Object(said);
        let text = canonical(&said);
        let hash = format!("sha256:{}", hex(&sha2::Sha256::digest(text.as_bytes())));
        let input = entry.get("inputSchema").ok_or("it has no `inputSchema`")?;
        let input_schema = schema(input, "inputSchema")?;
        let output_schema = match entry.get("outputSchema") {
            None | Some(Value::Null) => None,
            Some(output) => Some(schema(output, "outputSchema")?),
        };
        let mut warnings = poison::flags(&said);
        let given = match entry.get("description").or_else(|| entry.get("title")) {
            None | Some(Value::Null) => "",
            Some(Value::String(description)) => description,
            Some(_) => return Err("its description is no text".to_owned()),
        };
        let (description, cut) = shown(given, limits.description);
        if cut {
            warnings.push(format!("its description was cut to {} characters", limits.description));
        } else if description != given {
            warnings.push("its description holds characters nobody sees".to_owned());
        }
        let hints = hints(entry.get("annotations"));
        Ok(Self {
            name,
            said,
            hash: hash.into(),
            description: description.into(),
            input_schema,
            output_schema,
            hints,
            warnings,
        })
    }

    /// The same, from what was written down of it.
    pub(crate) fn of_said(said: &Value, limits: &Limits) -> Option<Self> {
        Self::read(said, 0, limits).ok()
    }
}

fn hints(annotations: Option<&Value>) -> Hints {
    let hint = |key: &str, otherwise: bool| {
        annotations.and_then(|all| all.get(key)).and_then(Value::as_bool).unwrap_or(otherwise)
    };
    let read_only = hint("readOnlyHint", false);
    Hints {
        read_only,
        destructive: !read_only && hint("destructiveHint", true),
        idempotent: read_only || hint("idempotentHint", false),
        open_world: hint("openWorldHint", true),
    }
}

/// A schema fit to be shown to a model: words made visible and cut, names only where nothing hides in them.
fn schema(given: &Value, part: &str) -> Result<Value, String> {
    if !given.is_object() {
        return Err(format!("its `{part}` is no object"));
    }
    if canonical(given).len() > LARGEST_SCHEMA {
        return Err(format!("its `{part}` is larger than {} KiB", LARGEST_SCHEMA >> 10));
    }
    let mut schema = given.clone();
    clean(&mut schema, part)?;
    // Silence about the kind means an object, as everywhere in the protocol.
    if part == "inputSchema"
        && let Some(map) = schema.as_object_mut()
        && !["type", "$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| map.contains_key(*key))
    {
        map.insert("type".to_owned(), json!("object"));
    }
    Ok(schema)
}

/// How many characters of one text in a schema a model reads.
const LONGEST_WORDS: usize = 2048;

fn clean(value: &mut Value, part: &str) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| clean(item, part)),
        Value::Object(map) => {
            if let Some(odd) = map.keys().find(|key| visible(key) != key.as_str()) {
                return Err(format!("a name in its `{part}` holds characters nobody sees: {}", visible(odd)));
            }
            for (key, value) in map {
                match value {
                    // Words for the model; everything else judges arguments and stays as it is.
                    Value::String(text) if ["description", "title", "$comment"].contains(&key.as_str()) => {
                        *text = shown(text, LONGEST_WORDS).0;
                    }
                    value => clean(value, part)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A text made visible and no longer than it may be, and whether it was cut.
fn shown(text: &str, most: usize) -> (String, bool) {
    const CUT: &str = " [cut]";
    let text = visible(text);
    match text.char_indices().nth(most) {
        None => (text.into_owned(), false),
        Some(_) => {
            let end =
                text.char_indices().nth(most.saturating_sub(CUT.len())).map_or(text.len(), |(at, _)| at);
            (format!("{}{CUT}", &text[..end]), true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entry: &Value) -> Result<Definition, (String, String)> {
        Definition::read(entry, 3, &Limits::default())
    }

    #[test]
    fn what_hides_is_shown_and_what_is_long_is_cut_while_the_hash_is_over_all_of_it() {
        let schema =
            json!({"type": "object", "properties": {"q": {"type": "string", "description": "a\u{202e}b"}}});
        let one =
            read(&json!({"name": "t", "description": "Adds.\u{e0073}\u{1b}[1m", "inputSchema": schema}))
                .unwrap();
        assert!(one.description.chars().all(|c| !c.is_control() && c != '\u{e0073}'), "{}", one.description);
        assert!(!one.input_schema.to_string().contains('\u{202e}'));
        let long = |end: &str| json!({"name": "t", "description": format!("{}{end}", "x".repeat(200_000)), "inputSchema": schema});
        let (a, b) = (read(&long("a")).unwrap(), read(&long("b")).unwrap());
        assert_eq!(a.description.chars().count(), 4096);
        assert_eq!(a.description, b.description);
        assert_ne!(a.hash, b.hash);
    }

    #[test]
    fn an_entry_that_cannot_be_used_says_which_it_is_and_why() {
        let schema = json!({"type": "object"});
        for (entry, what) in [
            (json!(1), "tools[3]"),
            (json!({"name": "", "inputSchema": schema}), ""),
            (json!({"name": "a b", "inputSchema": schema}), "a b"),
            (json!({"name": "other__tool", "inputSchema": schema}), "other__tool"),
            (json!({"name": "t"}), "t"),
            (json!({"name": "t", "inputSchema": []}), "t"),
            (json!({"name": "t", "description": 1, "inputSchema": schema}), "t"),
            (json!({"name": "t", "inputSchema": {"properties": {"a\u{200b}": {}}}}), "t"),
        ] {
            let (named, why) = read(&entry).unwrap_err();
            assert_eq!(named, what, "{entry}");
            assert!(!why.is_empty());
        }
    }

    #[test]
    fn only_what_counts_is_in_the_hash() {
        let a = read(
            &json!({"name": "t", "inputSchema": {"type": "object"}, "_meta": {"at": 1}, "aliases": ["read"]}),
        );
        let b = read(&json!({"inputSchema": {"type": "object"}, "name": "t", "_meta": {"at": 2}}));
        assert_eq!(a.unwrap().hash, b.unwrap().hash);
        let c = read(
            &json!({"name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}),
        );
        assert_ne!(
            c.unwrap().hash,
            read(&json!({"name": "t", "inputSchema": {"type": "object"}})).unwrap().hash
        );
    }
}
