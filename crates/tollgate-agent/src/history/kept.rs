//! An answer as a conversation keeps it: read back, it is the same answer.

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;
use tollgate::Settled;

/// A settled call that can be written down and read back.
#[derive(Debug, Clone)]
pub struct Kept(pub Settled);

impl Deref for Kept {
    type Target = Settled;

    fn deref(&self) -> &Settled {
        &self.0
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = Vec::new();
        self.0.store(&mut stored, None).map_err(S::Error::custom)?;
        let text = String::from_utf8(stored).map_err(S::Error::custom)?;
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Through a value: a fact is an enum with a tag, and those are read by way of one.
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = value.to_string();
        Settled::restore(text.as_bytes()).map(Self).map_err(D::Error::custom)
    }
}
