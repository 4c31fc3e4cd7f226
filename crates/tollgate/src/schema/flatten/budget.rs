//! How much a flattened schema may grow, counted while it is written.

use serde_json::{Map, Value};

use super::FlattenError;

/// The most values in a flattened schema.
const MAX_NODES: usize = 100_000;
/// The most bytes of text in a flattened schema.
const MAX_BYTES: usize = 5_000_000;
/// The deepest nesting that is read or written.
pub(super) const MAX_DEPTH: usize = 200;

/// What is left to spend.
pub(super) struct Budget {
    nodes: usize,
    bytes: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { nodes: MAX_NODES, bytes: MAX_BYTES }
    }

    /// Pays for one value.
    pub(super) fn value(&mut self) -> Result<(), FlattenError> {
        let left = self.nodes.checked_sub(1);
        self.nodes = left.ok_or_else(|| FlattenError::TooLarge(format!("more than {MAX_NODES} values")))?;
        Ok(())
    }

    /// Pays for a text: a name, a value, or a reference that had to be read.
    pub(super) fn text(&mut self, text: &str) -> Result<(), FlattenError> {
        let left = self.bytes.checked_sub(text.len());
        self.bytes =
            left.ok_or_else(|| FlattenError::TooLarge(format!("more than {MAX_BYTES} bytes of text")))?;
        Ok(())
    }

    /// Data as it is, paid for. The depth of the document has been checked before.
    pub(super) fn copy(&mut self, value: &Value) -> Result<Value, FlattenError> {
        self.value()?;
        if let Value::String(text) = value {
            self.text(text)?;
        }
        Ok(match value {
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.copy(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let mut copy = Map::with_capacity(map.len());
                for (key, value) in map {
                    self.text(key)?;
                    copy.insert(key.clone(), self.copy(value)?);
                }
                Value::Object(copy)
            }
            scalar => scalar.clone(),
        })
    }
}

/// Refuses a document that is too deep to be walked. Does not recurse itself.
pub(super) fn check_depth(document: &Value) -> Result<(), FlattenError> {
    let mut stack = vec![(document, 0)];
    while let Some((value, depth)) = stack.pop() {
        if depth > MAX_DEPTH {
            return Err(FlattenError::TooLarge(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        match value {
            Value::Array(items) => stack.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => stack.extend(map.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}
