//! A schema that is written once and read by many: a copy of it is the same one.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON Schema as its author wrote it. Cloning shares it; changing one leaves the others as they were.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema(Arc<Value>);

impl Schema {
    /// The schema as a value of its own.
    pub fn to_value(&self) -> Value {
        (*self.0).clone()
    }
}

impl From<Value> for Schema {
    fn from(schema: Value) -> Self {
        Self(Arc::new(schema))
    }
}

impl From<&Value> for Schema {
    fn from(schema: &Value) -> Self {
        schema.clone().into()
    }
}

impl From<&Schema> for Schema {
    fn from(schema: &Schema) -> Self {
        schema.clone()
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl DerefMut for Schema {
    fn deref_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.0)
    }
}

impl PartialEq<Value> for Schema {
    fn eq(&self, other: &Value) -> bool {
        *self.0 == *other
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}
