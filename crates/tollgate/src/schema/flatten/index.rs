//! Every name in a document: which schema each `$id` and `$anchor` stands for, and the base around each schema.

use std::{collections::HashMap, rc::Rc};

use serde_json::Value;

use super::{
    FlattenError, told,
    uri::{NAMELESS, percent_decoded, resolve, split_fragment},
};
use crate::schema::dialect::{Dialect, Holds};

/// The names of one document.
pub(in crate::schema) struct Index<'a> {
    dialect: Dialect,
    resources: HashMap<Rc<str>, &'a Value>,
    anchors: HashMap<Rc<str>, HashMap<&'a str, Anchor<'a>>>,
    /// By address: two schemas that are written the same may stand under different bases.
    bases: HashMap<*const Value, Rc<str>>,
}

/// A schema that is called by a name of its own.
#[derive(Clone, Copy)]
struct Anchor<'a> {
    node: &'a Value,
    dynamic: bool,
}

/// Where a reference leads.
#[derive(Clone)]
pub(in crate::schema) struct Target<'a> {
    pub(in crate::schema) node: &'a Value,
    /// What references in it are resolved against.
    pub(in crate::schema) base: Rc<str>,
}

impl<'a> Index<'a> {
    pub(in crate::schema) fn new(document: &'a Value, dialect: Dialect) -> Self {
        let mut index =
            Self { dialect, resources: HashMap::new(), anchors: HashMap::new(), bases: HashMap::new() };
        let base: Rc<str> = NAMELESS.into();
        index.resources.insert(Rc::clone(&base), document);
        index.note(document, &base);
        index
    }

    /// The base inside a schema that stands under `outer`: its own `$id` where it has one.
    pub(in crate::schema) fn base_in(&self, node: &Value, outer: &Rc<str>) -> Rc<str> {
        match self.bases.get(&std::ptr::from_ref(node)) {
            Some(base) => Rc::clone(base),
            None => self.own_base(node, outer).unwrap_or_else(|| Rc::clone(outer)),
        }
    }

    /// Where a reference under `base` leads.
    pub(in crate::schema) fn find(&self, base: &str, reference: &str) -> Result<Target<'a>, FlattenError> {
        let (_, fragment) = split_fragment(reference);
        let uri = resolve(base, reference);
        let Some((uri, root)) = self.resources.get_key_value(uri.as_str()) else {
            return Err(FlattenError::ExternalRef(told(reference)));
        };
        let fragment = percent_decoded(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            self.walk(uri, root, &fragment)
        } else {
            let anchor = self.anchors.get(uri).and_then(|names| names.get(fragment.as_str()));
            anchor.map(|anchor| Target { node: anchor.node, base: self.base_in(anchor.node, uri) })
        }
        .ok_or_else(|| FlattenError::UnresolvableRef(told(reference)))
    }

    /// The schema that `name` dynamically stands for in one resource.
    pub(super) fn dynamic_anchor(&self, resource: &Rc<str>, name: &str) -> Option<Target<'a>> {
        let anchor = self.anchors.get(resource)?.get(name).filter(|anchor| anchor.dynamic)?;
        Some(Target { node: anchor.node, base: Rc::clone(resource) })
    }

    /// True when a resource says that `$recursiveRef` may start from further out.
    pub(super) fn is_recursive_anchor(&self, resource: &str) -> bool {
        let root = self.resources.get(resource);
        root.and_then(|root| root.get("$recursiveAnchor")) == Some(&Value::Bool(true))
    }

    /// Follows a JSON pointer, keeping track of the base: the path may cross schemas with names of their own.
    fn walk(&self, uri: &Rc<str>, root: &'a Value, pointer: &str) -> Option<Target<'a>> {
        let mut node = root;
        let mut base = self.base_in(root, uri);
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            node = match node {
                Value::Object(map) => map.get(&token)?,
                Value::Array(items) => items.get(array_index(&token)?)?,
                _ => return None,
            };
            if let Some(inner) = self.bases.get(&std::ptr::from_ref(node)) {
                base = Rc::clone(inner);
            }
        }
        Some(Target { node, base })
    }

    fn note(&mut self, node: &'a Value, outer: &Rc<str>) {
        let Value::Object(map) = node else { return };
        let base = self.own_base(node, outer);
        if let Some(base) = &base {
            self.resources.entry(Rc::clone(base)).or_insert(node);
        }
        let base = base.unwrap_or_else(|| Rc::clone(outer));
        self.bases.insert(std::ptr::from_ref(node), Rc::clone(&base));
        self.note_anchors(node, &base);
        for (keyword, value) in map {
            match (self.dialect.holds(keyword), value) {
                (Holds::Schema | Holds::List, Value::Array(items)) => {
                    items.iter().for_each(|item| self.note(item, &base));
                }
                (Holds::Schema, schema) => self.note(schema, &base),
                (Holds::Map | Holds::Definitions, Value::Object(entries)) => {
                    entries.values().for_each(|entry| self.note(entry, &base));
                }
                _ => {}
            }
        }
    }

    fn note_anchors(&mut self, node: &'a Value, base: &Rc<str>) {
        let text = |keyword: &str| node.get(keyword).and_then(Value::as_str);
        // Before `$anchor` there was `"$id": "#name"`; a document that does not name its draft may be that old.
        let stands_alone = self.dialect.ref_stands_alone() && node.get("$ref").is_some();
        let fragment = text(self.dialect.id()).map(|id| split_fragment(id).1);
        let old = fragment.filter(|name| !name.is_empty() && !name.starts_with('/') && !stands_alone);
        let new = self.dialect >= Dialect::Draft2019;
        let names = [
            old.map(|name| (name, false)),
            text("$anchor").filter(|_| new).map(|name| (name, false)),
            text("$dynamicAnchor").filter(|_| new).map(|name| (name, true)),
        ];
        for (name, dynamic) in names.into_iter().flatten() {
            let names = self.anchors.entry(Rc::clone(base)).or_default();
            names.entry(name).or_insert(Anchor { node, dynamic });
        }
    }

    /// The base a schema's own `$id` makes.
    fn own_base(&self, node: &Value, outer: &Rc<str>) -> Option<Rc<str>> {
        let id = node.get(self.dialect.id())?.as_str()?;
        let ignored = self.dialect.ref_stands_alone() && node.get("$ref").is_some();
        if ignored || id.starts_with('#') { None } else { Some(resolve(outer, id).into()) }
    }
}

/// A place in an array, as a JSON pointer writes it.
fn array_index(token: &str) -> Option<usize> {
    let padded = token.len() > 1 && token.starts_with('0');
    (!padded && token.bytes().all(|byte| byte.is_ascii_digit())).then(|| token.parse().ok())?
}
