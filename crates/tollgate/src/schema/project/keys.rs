//! Names of fields that every provider takes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    outcome::hex,
    schema::{dialect::Dialect, walk::each_child},
};

/// The longest name of a field.
const LONGEST: usize = 64;

/// True for a name every provider takes.
pub(super) fn is_legal(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// A legal name for every field of a schema that has none. No two fields anywhere in the schema share one, so the
/// way back does not depend on where a field stands.
pub(super) fn wire_names(schema: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeSet::new();
    collect(schema, &mut all);
    let mut taken: BTreeSet<String> = all.iter().filter(|name| is_legal(name)).cloned().collect();
    let mut names = BTreeMap::new();
    for name in all.into_iter().filter(|name| !is_legal(name)) {
        let plain = readable(&name);
        let wire = if is_legal(&plain) && !taken.contains(&plain) { plain } else { marked(&plain, &name) };
        taken.insert(wire.clone());
        names.insert(name, wire);
    }
    names
}

fn collect(schema: &Value, names: &mut BTreeSet<String>) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::Object(properties)) = map.get("properties") {
        names.extend(properties.keys().cloned());
    }
    each_child(map, Dialect::Draft2020, &mut |_, child| collect(child, names));
}

/// The name with an underscore for everything illegal, and never two of them in a row.
fn readable(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        let legal = c.is_ascii_alphanumeric() || "_.-".contains(c);
        if legal {
            plain.push(c);
        } else if !plain.ends_with('_') {
            plain.push('_');
        }
    }
    let plain = plain.trim_matches('_');
    if plain.is_empty() { "field".to_owned() } else { plain.to_owned() }
}

/// The name, cut, with a short digest of the original.
fn marked(plain: &str, original: &str) -> String {
    let mark = hex(&Sha256::digest(original.as_bytes())[..4]);
    let kept: String = plain.chars().take(LONGEST - mark.len() - 1).collect();
    format!("{kept}_{mark}")
}
