//! What each method answers, whichever way the message came.

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tollgate::BoxFuture;

use super::{
    Gateway,
    call::From,
    message::{self, Id, Request, RpcError},
    revision::{Brought, Client, Era, Level, agreed, spoken},
    session::{Outlet, Session},
};

/// What a request comes to.
pub(crate) enum Going {
    /// The answer is there.
    Done(Reply),
    /// It will be there.
    On(BoxFuture<'static, Reply>),
    /// There is none before the client says so: it listens.
    Listens(Listening),
}

/// A whole answer, as it goes out.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    /// The protocol's code, where it is an error.
    pub(crate) error: Option<i32>,
    /// True when the client said meanwhile that it does not want it.
    pub(crate) unwanted: bool,
}

/// A client that wants to hear when tools change.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) id: Box<str>,
    pub(crate) tools: bool,
}

impl Reply {
    pub(crate) fn result(id: Id<'_>, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        Self { body: message::answer(id, write), error: None, unwanted: false }
    }

    pub(crate) fn error(id: Option<Id<'_>>, error: &RpcError) -> Self {
        Self { body: error.answer(id), error: Some(error.code), unwanted: false }
    }
}

impl Gateway {
    /// Begins to answer a request of a client that is known.
    pub(crate) fn answer(
        &self,
        session: &Arc<Session>,
        client: &Arc<Client>,
        request: &Request<'_>,
        brought: &Brought<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Going {
        let id = request.id;
        let from = From { session, client, outlet, brought };
        let going = match (&*request.method, client.era) {
            ("tools/call", _) => self.call(id, &from),
            ("tools/list", era) => self.list(id, request.params, session, era),
            ("server/discover", Era::Stateless) => Ok(self.discover(id)),
            ("subscriptions/listen", Era::Stateless) => listen(id, request.params),
            ("ping", Era::Session) => Ok(Going::Done(Reply::result(id, |out| out.extend_from_slice(b"{}")))),
            ("logging/setLevel", Era::Session) => set_level(id, request.params, session),
            (method, _) => Err(RpcError::method_not_found(method)),
        };
        going.unwrap_or_else(|error| Going::Done(Reply::error(Some(id), &error)))
    }

    /// The handshake of a session: what was agreed on, and the client as it introduced itself.
    pub(crate) fn initialize(
        &self,
        id: Id<'_>,
        params: Option<&RawValue>,
    ) -> Result<(Reply, Client), RpcError> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "protocolVersion")]
            version: Cow<'a, str>,
            capabilities: Value,
        }
        let params =
            params.ok_or_else(|| RpcError::invalid_params("`initialize` says which revision is wanted"))?;
        let Params { version, capabilities } = serde_json::from_str(params.get())
            .map_err(|error| RpcError::invalid_params(format!("`initialize` cannot be read: {error}")))?;
        if !capabilities.is_object() {
            return Err(RpcError::invalid_params("`capabilities` must be an object"));
        }
        let revision = agreed(&version);
        let mut result = json!({
            "protocolVersion": revision,
            "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            "serverInfo": about(),
        });
        if let Some(instructions) = &self.inner.settings.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        let client = Client { era: Era::Session, capabilities, log: None };
        Ok((Reply::result(id, |out| message::push(out, &result)), client))
    }

    fn discover(&self, id: Id<'_>) -> Going {
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": spoken().collect::<Vec<_>>(),
            "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            "ttlMs": self.list_life(),
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": about()},
        });
        if let Some(instructions) = &self.inner.settings.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        Going::Done(Reply::result(id, |out| message::push(out, &result)))
    }

    fn list(
        &self,
        id: Id<'_>,
        params: Option<&RawValue>,
        session: &Session,
        era: Era,
    ) -> Result<Going, RpcError> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, default)]
            cursor: Option<&'a RawValue>,
        }
        if let Some(params) = params {
            let params: Params<'_> = serde_json::from_str(params.get())
                .map_err(|error| RpcError::invalid_params(format!("the request cannot be read: {error}")))?;
            if params.cursor.is_some() {
                return Err(RpcError::invalid_params("the list comes in one piece: there is no such cursor"));
            }
        }
        let listed = self.listed(session.identity.route.as_ref());
        Ok(Going::Done(Reply::result(id, |out| {
            out.extend_from_slice(br#"{"tools":"#);
            out.extend_from_slice(listed.json.as_bytes());
            if era == Era::Stateless {
                let life = self.list_life();
                out.extend_from_slice(
                    format!(r#","resultType":"complete","ttlMs":{life},"cacheScope":"private""#).as_bytes(),
                );
            }
            out.push(b'}');
        })))
    }

    fn list_life(&self) -> u64 {
        u64::try_from(self.inner.settings.list_life.as_millis()).unwrap_or(u64::MAX)
    }

    /// The client told us something nobody answers.
    pub(crate) fn told(session: &Session, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            id: &'a RawValue,
        }
        if method == "notifications/cancelled"
            && let Some(Ok(cancelled)) =
                params.map(|params| serde_json::from_str::<Cancelled<'_>>(params.get()))
        {
            session.cancel(cancelled.id.get());
        }
    }
}

/// This server, as it names itself.
fn about() -> Value {
    json!({"name": "tollgate", "version": env!("CARGO_PKG_VERSION")})
}

fn set_level(id: Id<'_>, params: Option<&RawValue>, session: &Session) -> Result<Going, RpcError> {
    #[derive(Deserialize)]
    struct Params {
        level: Level,
    }
    let text = params.map_or("{}", RawValue::get);
    let Params { level } = serde_json::from_str(text)
        .map_err(|error| RpcError::invalid_params(format!("this is no level of a log: {error}")))?;
    session.log_from(level);
    Ok(Going::Done(Reply::result(id, |out| out.extend_from_slice(b"{}"))))
}

fn listen(id: Id<'_>, params: Option<&RawValue>) -> Result<Going, RpcError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Wanted {
        #[serde(rename = "toolsListChanged")]
        tools: bool,
    }
    #[derive(Deserialize)]
    struct Params {
        notifications: Wanted,
    }
    let text = params.map_or("{}", RawValue::get);
    let Params { notifications } = serde_json::from_str(text)
        .map_err(|error| RpcError::invalid_params(format!("the subscription cannot be read: {error}")))?;
    Ok(Going::Listens(Listening { id: id.raw().into(), tools: notifications.tools }))
}

impl Listening {
    /// The first message of a subscription: what will be told.
    pub(crate) fn acknowledged(&self) -> Vec<u8> {
        let accepted = if self.tools { json!({"toolsListChanged": true}) } else { json!({}) };
        message::notification(
            "notifications/subscriptions/acknowledged",
            &json!({"notifications": accepted, "_meta": self.meta()}),
        )
    }

    /// Tools changed.
    pub(crate) fn changed(&self) -> Vec<u8> {
        message::notification("notifications/tools/list_changed", &json!({"_meta": self.meta()}))
    }

    /// The server ends the subscription.
    pub(crate) fn over(&self) -> Vec<u8> {
        let result = json!({"resultType": "complete", "_meta": self.meta()});
        message::answer(Id::again(&self.id), |out| message::push(out, &result))
    }

    fn meta(&self) -> Value {
        let id: Value = serde_json::from_str(&self.id).unwrap_or_default();
        json!({"io.modelcontextprotocol/subscriptionId": id})
    }
}
