//! A schema whose check would never come to an end, or would take one value through ways without number, is found
//! before it judges anything.

use std::{collections::HashMap, rc::Rc};

use serde_json::Value;

use super::{
    dialect::Dialect,
    flatten::{Index, NAMELESS, Target},
};

/// Keywords that apply a schema to the same value.
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// One value is looked at by no more schemas than this, and by no longer a chain of them.
const MOST_WAYS: u64 = 10_000;
const LONGEST_CHAIN: usize = 100;

/// Why the check of a value would not end in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unending {
    /// This reference leads back to itself on the same value.
    Loop(String),
    /// From here, one value is looked at by too many schemas, or by too long a chain of them.
    TooMany(String),
}

/// The first place from which a check would not end in time, where there is one.
pub(crate) fn unending(root: &Value) -> Option<Unending> {
    if !refers(root) {
        return None;
    }
    let dialect = Dialect::of(root).unwrap_or(Dialect::Draft2020);
    let mut ways = Ways { index: Index::new(root, dialect), known: HashMap::new() };
    let outermost: Rc<str> = NAMELESS.into();
    let mut stack = vec![root];
    // Every subschema is a possible start: one that is never reached costs nothing to refuse.
    while let Some(schema) = stack.pop() {
        let base = ways.index.base_in(schema, &outermost);
        if let Err(found) = ways.from(&Target { node: schema, base }, "#", 0) {
            return Some(found);
        }
        match schema {
            Value::Object(map) => stack.extend(map.values()),
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    None
}

/// True when there is a reference at all, which most schemas have not.
fn refers(root: &Value) -> bool {
    let mut stack = vec![root];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(map) if map.keys().any(|key| REFERENCES.contains(&key.as_str())) => return true,
            Value::Object(map) => stack.extend(map.values()),
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    false
}

/// The schemas that look at one value from here on.
#[derive(Debug, Clone, Copy)]
struct Reach {
    ways: u64,
    chain: usize,
}

/// What was counted, by schema; `None` while it is being counted.
struct Ways<'a> {
    index: Index<'a>,
    known: HashMap<*const Value, Option<Reach>>,
}

impl<'a> Ways<'a> {
    fn from(&mut self, schema: &Target<'a>, by: &str, depth: usize) -> Result<Reach, Unending> {
        let mut reach = Reach { ways: 1, chain: 1 };
        let Some(map) = schema.node.as_object() else { return Ok(reach) };
        let place = std::ptr::from_ref(schema.node);
        match self.known.get(&place) {
            Some(Some(reach)) => return Ok(*reach),
            Some(None) => return Err(Unending::Loop(by.to_owned())),
            None if depth > LONGEST_CHAIN => return Err(Unending::TooMany(by.to_owned())),
            None => self.known.insert(place, None),
        };
        let mut take = |inner: Reach| {
            reach.ways = reach.ways.saturating_add(inner.ways);
            reach.chain = reach.chain.max(inner.chain + 1);
        };
        for reference in REFERENCES.iter().filter_map(|key| map.get(*key)?.as_str()) {
            // What is not in the document does not compile, and is refused for that.
            if let Ok(target) = self.index.find(&schema.base, reference) {
                take(self.from(&target, reference, depth + 1)?);
            }
        }
        let lists = IN_PLACE_LISTS.iter().filter_map(|key| map.get(*key)?.as_array()).flatten();
        let maps = IN_PLACE_MAPS.iter().filter_map(|key| map.get(*key)?.as_object());
        let inner = IN_PLACE.iter().filter_map(|key| map.get(*key)).chain(lists);
        for node in inner.chain(maps.flat_map(|map| map.values())) {
            let base = self.index.base_in(node, &schema.base);
            take(self.from(&Target { node, base }, by, depth + 1)?);
        }
        if reach.ways > MOST_WAYS || reach.chain > LONGEST_CHAIN {
            return Err(Unending::TooMany(by.to_owned()));
        }
        self.known.insert(place, Some(reach));
        Ok(reach)
    }
}
