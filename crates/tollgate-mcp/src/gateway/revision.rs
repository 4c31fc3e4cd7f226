//! Which revision of the protocol a client speaks, and what each request must bring along.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};

use super::message::{RpcError, code};

/// The stateless revision: every request says who asks and what they can do.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The revisions with a session, the newest first.
pub(crate) const WITH_SESSION: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Every revision that is spoken here, the newest first.
pub(crate) fn spoken() -> impl Iterator<Item = &'static str> {
    std::iter::once(STATELESS).chain(WITH_SESSION)
}

/// The two generations of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake, then a session; the server may send requests of its own.
    Session,
    /// No handshake; what the server wants to know comes as an answer, and the request is made again.
    Stateless,
}

/// The revision of a session: the one that was asked for where it is spoken here, else the newest.
pub(crate) fn agreed(wanted: &str) -> &'static str {
    WITH_SESSION.into_iter().find(|spoken| *spoken == wanted).unwrap_or(WITH_SESSION[0])
}

/// What is reserved in the `_meta` of a request.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    pub(crate) progress: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(crate) version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) log_level: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) traceparent: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "tollgate/idempotencyKey")]
    pub(crate) key: Option<Cow<'a, str>>,
}

/// What a request's parameters bring, read once for whoever looks at it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Brought<'a> {
    #[serde(borrow, default, rename = "_meta", deserialize_with = "or_none")]
    pub(crate) meta: Meta<'a>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(crate) responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    state: Option<&'a RawValue>,
}

fn or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Meta<'de>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl<'a> Brought<'a> {
    pub(crate) fn of(params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(params) = params else { return Ok(Self::default()) };
        serde_json::from_str(params.get())
            .map_err(|error| RpcError::invalid_params(format!("the parameters cannot be read: {error}")))
    }

    /// The tool a call names, where it names one.
    pub(crate) fn name(&self) -> Option<Cow<'a, str>> {
        self.name.and_then(text)
    }

    /// The state a call was given when it was asked for more.
    pub(crate) fn state(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        let wrong = || RpcError::invalid_params("`requestState` must be a text");
        self.state.map(|raw| text(raw).ok_or_else(wrong)).transpose()
    }
}

fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw.get()).ok() } else { Some(Cow::Borrowed(inner)) }
}

impl<'a> Meta<'a> {
    /// The revision it names, where that is a text.
    pub(crate) fn revision(&self) -> Option<Cow<'a, str>> {
        self.version.and_then(text)
    }

    /// What every request of the stateless revision must bring; else the error that says what is missing.
    pub(crate) fn stateless(&self) -> Result<Arc<Client>, RpcError> {
        let capabilities: Option<Value> =
            self.capabilities.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let (revision, capabilities) = (self.revision(), capabilities.filter(Value::is_object));
        let lacks = (revision.is_none(), capabilities.is_none());
        let (Some(revision), Some(capabilities)) = (revision, capabilities) else {
            let missing: Vec<&str> = [
                ("io.modelcontextprotocol/protocolVersion", lacks.0),
                ("io.modelcontextprotocol/clientCapabilities", lacks.1),
            ]
            .into_iter()
            .filter_map(|(key, missing)| missing.then_some(key))
            .collect();
            return Err(RpcError::invalid_params(format!(
                "the request's `_meta` lacks, or has in another form: {}",
                missing.join(", ")
            )));
        };
        if revision != STATELESS {
            return Err(unsupported(&revision));
        }
        let log = self.log_level.and_then(|raw| serde_json::from_str(raw.get()).ok());
        Ok(Arc::new(Client { era: Era::Stateless, capabilities, log }))
    }
}

/// The error for a revision that is not spoken here.
pub(crate) fn unsupported(requested: &str) -> RpcError {
    RpcError {
        data: Some(json!({"requested": requested, "supported": [STATELESS]})),
        ..RpcError::new(code::UNSUPPORTED_VERSION, "this revision of the protocol is not spoken here")
    }
}

/// What a client said of itself.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) era: Era,
    pub(crate) capabilities: Value,
    /// From which level on it wants to read logs. A stateless request that names none gets none.
    pub(crate) log: Option<Level>,
}

/// How much a line of a log matters, as RFC 5424 has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Client {
    /// The capability that answering this method takes, by name.
    pub(crate) fn capability_for(method: &str) -> Option<&'static str> {
        match method {
            "elicitation/create" => Some("elicitation"),
            "sampling/createMessage" => Some("sampling"),
            "roots/list" => Some("roots"),
            _ => None,
        }
    }

    /// True when the client said that it can answer this.
    pub(crate) fn can(&self, method: &str) -> bool {
        Self::capability_for(method)
            .is_some_and(|name| self.capabilities.get(name).is_some_and(Value::is_object))
    }

    /// True when a person can be shown a form. A client that names no kind of elicitation knows forms alone.
    pub(crate) fn shows_forms(&self) -> bool {
        match self.capabilities.get("elicitation") {
            Some(Value::Object(kinds)) => kinds.contains_key("form") || !kinds.contains_key("url"),
            _ => false,
        }
    }
}
