//! The walk that puts the target of every reference in its place.
//!
//! The walk goes along evaluation paths: each place in the result is reached by exactly one, so the schemas that
//! are around it, and the resources a dynamic reference may look into, are known.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::{
    Flat, FlattenError,
    budget::{Budget, MAX_DEPTH},
    index::{Index, Target},
    siblings::combined,
    told,
    uri::split_fragment,
};
use crate::schema::dialect::{Dialect, Holds, Unreadable};

/// What to do with a reference that leads back to a schema around it.
#[derive(Clone, Copy)]
pub(super) enum OnRecursion {
    Refuse,
    /// Follow it so many times, then accept anything.
    Cut {
        after: usize,
    },
}

pub(super) struct Inliner<'a> {
    dialect: Dialect,
    index: Index<'a>,
    recursion: OnRecursion,
    budget: Budget,
    /// The schemas around the current place, outermost first.
    around: Vec<*const Value>,
    /// The resources that were entered on the way here, outermost first.
    scope: Vec<Rc<str>>,
    cut: Vec<String>,
}

/// The three ways to refer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Dynamic,
    Recursive,
}

/// References that mean something in one draft only, and nothing in all others.
const FOREIGN: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// Names of schemas: nothing is left to refer to them.
const NAMES: [&str; 4] = ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];

impl<'a> Inliner<'a> {
    pub(super) fn new(document: &'a Value, dialect: Dialect, recursion: OnRecursion) -> Self {
        Self {
            dialect,
            index: Index::new(document, dialect),
            recursion,
            budget: Budget::new(),
            around: Vec::new(),
            scope: Vec::new(),
            cut: Vec::new(),
        }
    }

    pub(super) fn run(mut self, document: &'a Value) -> Result<Flat, FlattenError> {
        let base = self.index.base_in(document, &super::uri::NAMELESS.into());
        let mut schema = self.schema(document, &base)?;
        if let Some(dialect) = document.get("$schema") {
            let rest = match schema {
                Value::Object(map) => map,
                // `$schema` needs an object around it.
                boolean => Map::from_iter([("allOf".to_owned(), json!([boolean]))]),
            };
            schema = with_dialect(dialect, document, rest);
        }
        Ok(Flat { schema, cut: self.cut })
    }

    fn schema(&mut self, node: &'a Value, outer: &Rc<str>) -> Result<Value, FlattenError> {
        let Value::Object(map) = node else { return self.budget.copy(node) };
        self.budget.value()?;
        if self.around.len() > MAX_DEPTH {
            return Err(FlattenError::TooLarge(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if Dialect::named(node).is_some_and(|named| named != Ok(self.dialect)) {
            return Err(match Dialect::named(node) {
                Some(Err(Unreadable)) | None => FlattenError::dialect(node),
                Some(Ok(_)) => FlattenError::Unsupported(
                    "a part of the schema is written in another draft than the whole".to_owned(),
                ),
            });
        }
        let base = self.index.base_in(node, outer);
        let entered = self.scope.last() != Some(&base);
        if entered {
            self.scope.push(Rc::clone(&base));
        }
        self.around.push(std::ptr::from_ref(node));
        let flat = match map.get("$ref") {
            Some(reference) if self.dialect.ref_stands_alone() => self.follow(Kind::Plain, reference, &base),
            _ => self.members(map, &base),
        };
        self.around.pop();
        if entered {
            self.scope.pop();
        }
        flat
    }

    fn members(&mut self, map: &'a Map<String, Value>, base: &Rc<str>) -> Result<Value, FlattenError> {
        let mut members: Vec<(String, Value)> = Vec::new();
        let mut targets: Vec<(usize, Value)> = Vec::new();
        for (keyword, value) in map {
            if let Some(kind) = self.reference(keyword) {
                targets.push((members.len(), self.follow(kind, value, base)?));
            } else if let Some(flat) = self.member(keyword, value, base)? {
                self.budget.text(keyword)?;
                members.push((keyword.clone(), flat));
            }
        }
        let mut flat = None;
        for (at, target) in targets {
            let siblings = flat.take().map_or_else(|| std::mem::take(&mut members), pairs);
            flat = Some(combined(siblings, at, target));
        }
        Ok(flat.unwrap_or_else(|| Value::Object(members.into_iter().collect())))
    }

    fn reference(&self, keyword: &str) -> Option<Kind> {
        match keyword {
            "$ref" => Some(Kind::Plain),
            "$dynamicRef" if self.dialect == Dialect::Draft2020 => Some(Kind::Dynamic),
            "$recursiveRef" if self.dialect == Dialect::Draft2019 => Some(Kind::Recursive),
            _ => None,
        }
    }

    /// A keyword's value without references, or `None` where the keyword has no meaning without them.
    fn member(
        &mut self,
        keyword: &str,
        value: &'a Value,
        base: &Rc<str>,
    ) -> Result<Option<Value>, FlattenError> {
        let names = NAMES.contains(&keyword) || keyword == self.dialect.id();
        if names || FOREIGN.contains(&keyword) || keyword == "$schema" {
            return Ok(None);
        }
        Ok(match (self.dialect.holds(keyword), value) {
            (Holds::Definitions, _) => None,
            (Holds::Schema | Holds::List, Value::Array(items)) => {
                self.budget.value()?;
                let flat = items.iter().map(|item| self.schema(item, base)).collect::<Result<_, _>>()?;
                Some(Value::Array(flat))
            }
            (Holds::Schema, schema) => Some(self.schema(schema, base)?),
            (Holds::Map, Value::Object(entries)) => {
                let mut flat = Map::new();
                for (name, schema) in entries {
                    self.budget.text(name)?;
                    flat.insert(name.clone(), self.schema(schema, base)?);
                }
                Some(Value::Object(flat))
            }
            (Holds::Unknown, value) => {
                // It is not ours to inline, and what it refers to will be gone: it would only mislead.
                Some(self.budget.copy(value)?).filter(|copy| !mentions_a_reference(copy))
            }
            (_, data) => Some(self.budget.copy(data)?),
        })
    }

    fn follow(&mut self, kind: Kind, value: &'a Value, base: &Rc<str>) -> Result<Value, FlattenError> {
        let Value::String(reference) = value else {
            return Err(FlattenError::Unsupported(format!(
                "a reference must be a text, not {}",
                crate::json::shorten(&value.to_string(), 60)
            )));
        };
        self.budget.value()?;
        self.budget.text(reference)?;
        let target = self.target(kind, reference, base)?;
        let times = self.around.iter().filter(|around| **around == std::ptr::from_ref(target.node)).count();
        match self.recursion {
            OnRecursion::Cut { after } if times > after => {
                if !self.cut.contains(reference) {
                    self.cut.push(reference.clone());
                }
                return Ok(leaf(target.node));
            }
            OnRecursion::Refuse if times > 0 && kind == Kind::Plain => {
                return Err(FlattenError::RecursiveRef(told(reference)));
            }
            OnRecursion::Refuse if times > 0 => return Err(FlattenError::DynamicRef(told(reference))),
            _ => {}
        }
        self.schema(target.node, &target.base)
    }

    fn target(&self, kind: Kind, reference: &str, base: &Rc<str>) -> Result<Target<'a>, FlattenError> {
        let found = self.index.find(base, reference)?;
        match kind {
            Kind::Plain => Ok(found),
            Kind::Dynamic => {
                let (_, name) = split_fragment(reference);
                let starts_dynamic = self
                    .index
                    .dynamic_anchor(&found.base, name)
                    .is_some_and(|anchor| std::ptr::eq(anchor.node, found.node));
                let outermost = || self.scope.iter().find_map(|base| self.index.dynamic_anchor(base, name));
                Ok(starts_dynamic.then(outermost).flatten().unwrap_or(found))
            }
            Kind::Recursive => {
                let moves = self.index.is_recursive_anchor(&found.base);
                if moves && self.scope.iter().any(|base| *base != found.base) {
                    return Err(FlattenError::DynamicRef(told(reference)));
                }
                Ok(found)
            }
        }
    }
}

/// What stands where recursion was cut: a value of the same type.
fn leaf(target: &Value) -> Value {
    let mut leaf = Map::new();
    if let Some(kind) = target.get("type") {
        leaf.insert("type".to_owned(), kind.clone());
    }
    leaf.insert("description".to_owned(), json!("Nested further in the same form."));
    Value::Object(leaf)
}

/// The schema with `$schema` where the document had it: first, unless others stood before it.
fn with_dialect(dialect: &Value, document: &Value, rest: Map<String, Value>) -> Value {
    let before = document.as_object().into_iter().flatten().take_while(|(key, _)| *key != "$schema");
    let before = before.filter(|(key, _)| rest.contains_key(*key)).count();
    let mut members: Vec<(String, Value)> = rest.into_iter().collect();
    members.insert(before.min(members.len()), ("$schema".to_owned(), dialect.clone()));
    Value::Object(members.into_iter().collect())
}

fn pairs(schema: Value) -> Vec<(String, Value)> {
    match schema {
        Value::Object(map) => map.into_iter().collect(),
        Value::Bool(true) => Vec::new(),
        other => vec![("allOf".to_owned(), Value::Array(vec![other]))],
    }
}

/// True when something in the value looks, to a reader who does not know better, like a reference or a name.
fn mentions_a_reference(value: &Value) -> bool {
    let names = |key: &str| key == "$ref" || key == "$defs" || FOREIGN.contains(&key) || NAMES.contains(&key);
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| names(key) || mentions_a_reference(value)),
        Value::Array(items) => items.iter().any(mentions_a_reference),
        _ => false,
    }
}
