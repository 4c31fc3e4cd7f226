//! Schemas that refer to themselves by way of alternatives: trees of tagged kinds, most often.
//!
//! Asked which fields are left over, or what is wrong, a validator looks at every alternative again at every depth. That
//! takes hours for a tree of ten levels, so at these places neither is asked.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use serde_json::Value;

use super::{
    dialect::Dialect,
    flatten::{Index, NAMELESS},
};

/// What of a schema leads back to itself by way of alternatives.
#[derive(Debug, Default)]
pub(crate) struct Branching {
    /// The references, as they are written.
    pub(crate) references: HashSet<String>,
    /// The most alternatives at one of these places; 0 where there are none.
    pub(crate) ways: u32,
}

/// What stands below a schema, references not followed.
#[derive(Default)]
struct Below<'a> {
    references: HashSet<&'a str>,
    ways: u32,
}

/// More looks than this at one value are too many to explain what is wrong with it.
const MOST_LOOKS: u64 = 4_096;

impl Branching {
    pub(crate) fn of(root: &Value) -> Self {
        let all = below(root);
        if all.ways == 0 || all.references.is_empty() {
            return Self::default();
        }
        let index = Index::new(root, Dialect::of(root).unwrap_or(Dialect::Draft2020));
        let base: Rc<str> = NAMELESS.into();
        // What is not in the document does not compile, and is refused for that.
        let found = |reference: &&'_ str| index.find(&base, reference).ok().map(|target| below(target.node));
        let known: HashMap<&str, Below<'_>> =
            all.references.iter().filter_map(|reference| Some((*reference, found(reference)?))).collect();
        let mut branching = Self::default();
        for reference in known.keys() {
            if let Some(ways) = ways_back(reference, &known) {
                branching.references.insert((*reference).to_owned());
                branching.ways = branching.ways.max(ways);
            }
        }
        branching
    }

    /// True when a value is nested so deeply that nobody would wait for what is wrong with it.
    pub(crate) fn is_too_deep(ways: u32, value: &Value) -> bool {
        ways > 1 && u64::from(ways).saturating_pow(depth(value)) > MOST_LOOKS
    }
}

/// The most alternatives on the way from a reference back to itself; `None` where there is no way or no choice on it.
fn ways_back(from: &str, known: &HashMap<&str, Below<'_>>) -> Option<u32> {
    let (mut seen, mut next, mut ways, mut returns) = (HashSet::new(), vec![from], 0, false);
    while let Some(reference) = next.pop() {
        let Some(below) = known.get(reference) else { continue };
        ways = ways.max(below.ways);
        returns |= below.references.contains(from);
        next.extend(below.references.iter().filter(|reference| seen.insert(**reference)));
    }
    (returns && ways > 1).then_some(ways)
}

fn below(schema: &Value) -> Below<'_> {
    let (mut below, mut stack) = (Below::default(), vec![schema]);
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value) {
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                            below.references.insert(reference);
                        }
                        ("anyOf" | "oneOf", Value::Array(ways)) if ways.len() > 1 => {
                            below.ways = below.ways.max(u32::try_from(ways.len()).unwrap_or(u32::MAX));
                        }
                        ("if", _) => below.ways = below.ways.max(2),
                        _ => {}
                    }
                    stack.push(value);
                }
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    below
}

fn depth(value: &Value) -> u32 {
    let deepest = match value {
        Value::Object(map) => map.values().map(depth).max(),
        Value::Array(items) => items.iter().map(depth).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;
    use crate::schema::Compiled;

    fn tree(of: &str) -> Value {
        let kind = |kind: u32| {
            json!({"type": "object", "required": ["kind"], "properties": {
            "child": {"$ref": "#/$defs/node"}, "kind": {"const": kind}}})
        };
        json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "required": ["root"],
            "$defs": {"node": {of: [kind(0), kind(1), kind(2), kind(3)]}}})
    }

    fn nested(levels: u32, leaf: Value) -> Value {
        json!({"root": (0..levels).fold(leaf, |inner, _| json!({"kind": 3, "child": inner}))})
    }

    #[test]
    fn a_deep_tree_of_tagged_kinds_is_judged_in_time_whether_it_fits_or_not() {
        for of in ["anyOf", "oneOf"] {
            let compiled = Compiled::arguments(tree(of)).unwrap();
            let began = Instant::now();
            assert!(compiled.accepts(&nested(60, json!({"kind": 0}))));
            let wrong = nested(60, json!({"kind": 9}));
            assert!(!compiled.accepts(&wrong));
            assert_eq!(compiled.violations(&wrong).len(), 1);
            assert!(compiled.violations(&nested(60, json!({"kind": 0}))).is_empty());
            assert!(began.elapsed() < Duration::from_secs(20), "{of}: {:?}", began.elapsed());
        }
    }

    #[test]
    fn so_is_one_whose_alternatives_stand_at_the_root_or_within_a_field() {
        let way = |kind: u32, back: &str| {
            json!({"type": "object", "required": ["kind"], "properties": {
            "child": {"$ref": back}, "kind": {"const": kind}}})
        };
        let at = |back: &str| json!([way(0, back), way(1, back), way(2, back), way(3, back)]);
        let root = json!({"type": "object", "oneOf": at("#")});
        let field = json!({"type": "object", "properties": {"root": {"oneOf": at("#/properties/root")}}});
        let inner = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": {
            "type": "object", "properties": {"kind": {}, "child": {"oneOf": at("#/$defs/node")}}}}});
        let began = Instant::now();
        for (schema, value) in [
            (root, nested(60, json!({"kind": 0}))["root"].clone()),
            (field, nested(60, json!({"kind": 0}))),
            (inner, nested(60, json!({"kind": 0}))),
        ] {
            let compiled = Compiled::arguments(schema.clone()).unwrap();
            assert!(compiled.accepts(&value), "{schema}");
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[test]
    fn what_is_wrong_in_a_shallow_one_is_told_in_words() {
        let compiled = Compiled::arguments(tree("oneOf")).unwrap();
        let told = compiled.violations(&nested(1, json!({"kind": 9})));
        assert!(!told.is_empty() && !told[0].message.contains("too deep"), "{told:?}");
    }

    #[test]
    fn a_list_without_a_choice_stays_closed_at_every_depth() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let compiled = Compiled::arguments(schema).unwrap();
        assert!(compiled.accepts(&json!({"next": {"next": {}}})));
        assert!(!compiled.accepts(&json!({"next": {"nxet": {}}})));
    }

    #[test]
    fn a_choice_beside_the_loop_takes_nothing_from_it() {
        let node = json!({"type": "object", "properties": {
            "value": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "next": {"$ref": "#/$defs/node"}}});
        let schema = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
        let found = Branching::of(&schema);
        assert_eq!((found.references.len(), found.ways), (1, 2));
        assert_eq!(
            Branching::of(
                &json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [{}, {}]}}})
            )
            .ways,
            0
        );
    }
}
