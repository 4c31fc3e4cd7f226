//! The way back: arguments written for a projection become arguments for the original schema.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};

/// Undoes to arguments what a projection did to their schema: renamed keys get their names back, a null that only
/// strict mode forced is dropped, a list of keys and values becomes the map it stands for. Changes nothing else,
/// and nothing at all where it [is the identity](Self::is_identity). Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Inverse {
    root: Option<Arc<Step>>,
}

impl Inverse {
    pub(super) fn new(root: Step) -> Self {
        Self { root: (!root.is_empty()).then(|| Arc::new(root)) }
    }

    /// True when arguments pass unchanged.
    pub fn is_identity(&self) -> bool {
        self.root.is_none()
    }

    /// The arguments as the original schema knows them.
    #[must_use]
    pub fn apply(&self, mut args: Value) -> Value {
        if let Some(root) = &self.root {
            root.apply(&mut args);
        }
        args
    }
}

/// What is to be done at one place in the arguments, and below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Step {
    fields: BTreeMap<String, Field>,
    /// For fields that have no name of their own.
    rest: Option<Box<Step>>,
    items: Option<Box<Step>>,
    /// For the first items of a list, where each place has its own form.
    places: Vec<Step>,
    list: List,
    /// For the values of a map that is written as a list.
    values: Option<Box<Step>>,
}

/// What a list means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum List {
    /// It cannot be there.
    #[default]
    Never,
    /// A list.
    Itself,
    /// A map: each item has a `key` and a `value`.
    Map,
}

/// What is to be done to one field, by its name on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) renamed_from: Option<String>,
    pub(super) null: Null,
    pub(super) inside: Step,
}

/// What a null in a field means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Null {
    /// It cannot be there, so nothing need be decided.
    #[default]
    Never,
    /// The field is absent: it is optional and takes no null.
    Absent,
    /// A null, or absent: the field is optional and takes both.
    Either,
    /// A null: the field is required and takes one.
    Itself,
}

/// Two forms of one value give the same thing opposite meanings, and nothing tells the forms apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ambiguous {
    /// A null in this field: absent, or a null.
    Null(String),
    /// A list: itself, or a map.
    List,
}

/// The names of the two fields in which a map is written as a list.
pub(super) const KEY: &str = "key";
pub(super) const VALUE: &str = "value";

impl Step {
    pub(super) fn is_empty(&self) -> bool {
        let inside = self.rest.is_some() || self.items.is_some() || !self.places.is_empty();
        self.fields.is_empty() && !inside && self.list == List::Never
    }

    pub(super) fn field(&mut self, name: String, field: Field) {
        self.fields.insert(name, field);
    }

    pub(super) fn rest(&mut self, step: Step) {
        self.rest = boxed(step);
    }

    pub(super) fn items(&mut self, step: Step) {
        self.items = boxed(step);
        self.list = List::Itself;
    }

    /// A list here is a map, and the step is for its values.
    pub(super) fn map(values: Step) -> Self {
        Self { values: boxed(values), list: List::Map, ..Self::default() }
    }

    pub(super) fn places(&mut self, steps: Vec<Step>) {
        self.places = if steps.iter().all(Step::is_empty) { Vec::new() } else { steps };
    }

    /// Adds what another form of the same value needs.
    pub(super) fn join(&mut self, other: Self) -> Result<(), Ambiguous> {
        for (name, theirs) in other.fields {
            let ours = self.fields.entry(name.clone()).or_default();
            ours.null = match (ours.null, theirs.null) {
                (Null::Absent, Null::Itself) | (Null::Itself, Null::Absent) => {
                    return Err(Ambiguous::Null(name));
                }
                (Null::Never, one) | (one, Null::Never) => one,
                (Null::Absent, _) | (_, Null::Absent) => Null::Absent,
                (Null::Itself, _) | (_, Null::Itself) => Null::Itself,
                (Null::Either, Null::Either) => Null::Either,
            };
            ours.renamed_from = ours.renamed_from.take().or(theirs.renamed_from);
            ours.inside.join(theirs.inside)?;
        }
        self.list = match (self.list, other.list) {
            (List::Never, one) | (one, List::Never) => one,
            (one, same) if one == same => one,
            _ => return Err(Ambiguous::List),
        };
        join_boxed(&mut self.rest, other.rest)?;
        join_boxed(&mut self.items, other.items)?;
        join_boxed(&mut self.values, other.values)?;
        for (at, theirs) in other.places.into_iter().enumerate() {
            match self.places.get_mut(at) {
                Some(ours) => ours.join(theirs)?,
                None => self.places.push(theirs),
            }
        }
        Ok(())
    }

    /// Forgets fields about which nothing is to be done.
    pub(super) fn prune(&mut self) {
        self.fields.values_mut().for_each(|field| field.inside.prune());
        self.fields.retain(|_, field| {
            field.renamed_from.is_some() || field.null == Null::Absent || !field.inside.is_empty()
        });
        for inner in [&mut self.rest, &mut self.items, &mut self.values] {
            inner.iter_mut().for_each(|step| step.prune());
            inner.take_if(|step| step.is_empty());
        }
        if self.list == List::Itself {
            self.list = List::Never;
        }
        self.places.iter_mut().for_each(Step::prune);
        if self.places.iter().all(Step::is_empty) {
            self.places.clear();
        }
    }

    fn apply(&self, value: &mut Value) {
        if self.list == List::Map
            && let Some(mut map) = as_map(value)
        {
            self.values.iter().for_each(|step| map.values_mut().for_each(|value| step.apply(value)));
            *value = Value::Object(map);
            return;
        }
        match value {
            Value::Object(map) if !self.fields.is_empty() || self.rest.is_some() => self.apply_fields(map),
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    let step = self.places.get(at).or(self.items.as_deref());
                    step.iter().for_each(|step| step.apply(item));
                }
            }
            _ => {}
        }
    }

    fn apply_fields(&self, map: &mut Map<String, Value>) {
        let before = std::mem::take(map);
        let renamed = self.fields.values().filter_map(|field| field.renamed_from.as_ref());
        let taken: BTreeSet<&String> = renamed.filter(|name| before.contains_key(*name)).collect();
        for (name, mut value) in before {
            let Some(field) = self.fields.get(&name) else {
                self.rest.iter().for_each(|step| step.apply(&mut value));
                map.insert(name, value);
                continue;
            };
            if value.is_null() && field.null == Null::Absent {
                continue;
            }
            field.inside.apply(&mut value);
            // Where the original name came too, nothing is overwritten: validation will name the stranger.
            match &field.renamed_from {
                Some(original) if !taken.contains(original) => map.insert(original.clone(), value),
                _ => map.insert(name, value),
            };
        }
    }
}

/// The map a list of keys and values stands for; of two equal keys the last one counts. `None` where it is no
/// such list: validation will say so.
fn as_map(value: &mut Value) -> Option<Map<String, Value>> {
    let items = value.as_array_mut()?;
    let is_pair = |item: &Value| item.get(KEY).is_some_and(Value::is_string) && item.get(VALUE).is_some();
    if !items.iter().all(is_pair) {
        return None;
    }
    let pairs = items.iter_mut().filter_map(|item| {
        let value = item.get_mut(VALUE)?.take();
        Some((item.get(KEY)?.as_str()?.to_owned(), value))
    });
    Some(pairs.collect())
}

fn boxed(step: Step) -> Option<Box<Step>> {
    (!step.is_empty()).then(|| Box::new(step))
}

fn join_boxed(ours: &mut Option<Box<Step>>, theirs: Option<Box<Step>>) -> Result<(), Ambiguous> {
    match (ours.as_mut(), theirs) {
        (Some(ours), Some(theirs)) => ours.join(*theirs),
        (None, theirs) => {
            *ours = theirs;
            Ok(())
        }
        (Some(_), None) => Ok(()),
    }
}
