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

/// What a call asks for, as it was written, and for which projection.
pub(super) struct Written {
    pub(super) name: WrittenName,
    pub(super) text: RawInput,
    pub(super) inverse: Option<Arc<Inverse>>,
    pub(super) fault: Option<Refusal>,
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
    pub fn propose(proposed: Proposed, position: usize, scope: &Arc<Scope>, events: &Events) -> Self {
        let Proposed { id, name, input: text, idempotency_key: key, purpose, fault, inverse } = proposed;
        let rare =
            if key.is_some() || purpose.is_some() { Some(Box::new(Rare::of(key, purpose))) } else { None };
        let (room, began) = (Box::new_uninit(), Instant::now());
        // Nothing below can panic, so it is put together where it stays: to be moved there would take as long again.
        let mut base = Box::write(
            room,
            Base {
                errand: Held::Own(Errand { cx: Cx::new(scope.clone(), id), name: None, invocation: None }),
                written: Written { name, text, inverse, fault },
                position,
                trail: Trail::default(),
                began,
                rounds: 0,
                trust: Trust::TrustedSystem,
                rare,
                place: None,
                permit: None,
                by: None,
                ran: None,
            },
        );
        base.trail.begin(events, began);
        Self { base, state: () }
    }
}

impl Rare {
    #[cold]
    fn of(key: Option<IdempotencyKey>, purpose: Option<Arc<str>>) -> Self {
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
        value.to_string().into()
    }
}

impl<'de> Deserialize<'de> for RawInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.into()))
    }
}

impl fmt::Debug for RawInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::json::shorten(self.as_str(), 200))
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
