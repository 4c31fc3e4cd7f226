//! What a model wrote: a name and a text that may be arguments. The only state that can be deserialised.

use std::{fmt, sync::Arc, time::Instant};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{
    Base, Call, Rare,
    errand::{Errand, Held},
};
use crate::{
    event::{Events, Trail},
    outcome::{Refusal, RefusalCode, Trust},
    schema::Inverse,
    tool::{CallId, Cx, IdempotencyKey, Scope, WrittenName},
};

/// A call as it was proposed. Nothing in it is believed yet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposed {
    /// The call's own id.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: WrittenName,
    /// The arguments, as the model wrote them.
    #[serde(default)]
    pub input: RawInput,
    /// A key of the caller's, under which the call takes effect at most once.
    #[serde(default)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Why the model says it calls this, in its own words. Shown to people; nothing is decided by it.
    #[serde(skip)]
    pub purpose: Option<Arc<str>>,
    #[serde(skip)]
    fault: Option<Refusal>,
    // What the provider's schema forced into the arguments, to be undone before they are judged.
    #[serde(skip)]
    inverse: Option<Arc<Inverse>>,
}

/// The arguments as written, and for which projection.
pub(super) struct Written {
    pub(super) text: RawInput,
    pub(super) inverse: Option<Arc<Inverse>>,
}

/// The text of the arguments, untouched, so that duplicate keys and the like are still seen.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RawInput(Box<str>);

impl Proposed {
    /// A proposed call.
    pub fn new(id: impl AsRef<str>, name: impl AsRef<str>, input: impl Into<RawInput>) -> Self {
        Self {
            id: CallId::new(id),
            name: WrittenName::new(name),
            input: input.into(),
            idempotency_key: None,
            purpose: None,
            fault: None,
            inverse: None,
        }
    }

    /// The same, written for a projected schema: what only the projection forced is undone before validation.
    #[must_use]
    pub fn projected(mut self, inverse: Option<Arc<Inverse>>) -> Self {
        self.inverse = inverse;
        self
    }

    /// The arguments as the tool's own schema sees them, where they are strict JSON.
    pub(crate) fn arguments(&self) -> Option<serde_json::Value> {
        let args = crate::json::parse_strict(self.input.as_str(), super::MAX_INPUT_BYTES).ok()?;
        Some(self.inverse.iter().fold(args, |args, inverse| inverse.apply(args)))
    }

    pub(super) fn into_written(self) -> Written {
        Written { text: self.input, inverse: self.inverse }
    }

    /// The same, with the reason the model gave for it.
    #[must_use]
    pub fn for_purpose(mut self, purpose: impl Into<Arc<str>>) -> Self {
        self.purpose = Some(purpose.into());
        self
    }

    /// The same, under a key of the caller's.
    #[must_use]
    pub fn with_key(mut self, key: impl AsRef<str>) -> Self {
        self.idempotency_key = Some(IdempotencyKey::new(key));
        self
    }

    /// The same, but it will be answered with `protocol_error` and never run: its turn is malformed or cut.
    #[must_use]
    pub fn broken(self, reason: impl Into<String>) -> Self {
        self.refused(
            RefusalCode::ProtocolError,
            reason,
            "Propose the call again, whole and with an id of its own.",
        )
    }

    /// The same, but it will be answered with `invalid_json` and never run: the bytes of its arguments are not
    /// text, so what stands in `input` is not what the model wrote. A call that is broken already stays so.
    #[must_use]
    pub fn unreadable(self, reason: impl Into<String>) -> Self {
        if self.fault.is_some() {
            return self;
        }
        self.refused(
            RefusalCode::InvalidJson,
            reason,
            "Propose the call again, its arguments as JSON in UTF-8.",
        )
    }

    fn refused(mut self, code: RefusalCode, reason: impl Into<String>, hint: &str) -> Self {
        self.fault = Some(Refusal::new(code, reason).with_hint(hint));
        self
    }

    /// Why it will be refused whatever it asks for, where its turn alone shows that.
    pub fn fault(&self) -> Option<&Refusal> {
        self.fault.as_ref()
    }
}

impl Call<Proposed> {
    /// Puts a proposed call on the path. `position` is its place in the turn.
    pub fn propose(mut proposed: Proposed, position: usize, scope: &Arc<Scope>, events: &Events) -> Self {
        let cx = Cx::new(scope.clone(), std::mem::take(&mut proposed.id));
        let began = Instant::now();
        Self {
            base: Box::new(Base {
                errand: Held::Own(Errand { cx, name: None, invocation: None }),
                position,
                trail: Trail::begin(events, began),
                began,
                rounds: 0,
                trust: Trust::TrustedSystem,
                rare: Rare::of(&mut proposed),
                place: None,
                permit: None,
                by: None,
            }),
            state: proposed,
        }
    }
}

impl Rare {
    fn of(proposed: &mut Proposed) -> Option<Box<Self>> {
        let brought = proposed.idempotency_key.is_some() || proposed.purpose.is_some();
        if brought { Some(Box::new(Self::brought(proposed))) } else { None }
    }

    #[cold]
    fn brought(proposed: &mut Proposed) -> Self {
        let (key, purpose) = (proposed.idempotency_key.take(), proposed.purpose.take());
        Self { key, purpose, ..Self::default() }
    }
}

impl RawInput {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RawInput {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for RawInput {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&serde_json::Value> for RawInput {
    fn from(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl<'de> Deserialize<'de> for RawInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.get().into()))
    }
}

impl fmt::Debug for RawInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::json::shorten(&self.0, 200))
    }
}

impl PartialEq for Proposed {
    fn eq(&self, other: &Self) -> bool {
        let parts = |call: &Self| {
            (
                call.id.clone(),
                call.name.clone(),
                call.input.clone(),
                call.idempotency_key.clone(),
                call.purpose.clone(),
                call.fault.clone(),
            )
        };
        parts(self) == parts(other)
    }
}
