//! How a connection comes about: which generation the server speaks, and what was agreed on.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tollgate::launch::Launcher;

use super::{Connection, Fault, Host, Request, Session, Tail, http, message::Fields, stdio};
use crate::{
    auth::Login,
    config::{Endpoint, Generation, ServerConfig},
};

/// The newest of each generation.
const STATELESS: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Older ones that are spoken too.
const SPOKEN: [&str; 4] = [LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];

/// A server that knows nothing of `server/discover` says so soon, or never.
const PROBE: Duration = Duration::from_secs(3);

/// The server does not know the version; it names those it knows.
const UNSUPPORTED_VERSION: i64 = -32022;

/// What a connection agreed on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Era {
    version: String,
    meta: Option<Fields>,
    tools_change: bool,
}

impl Default for Era {
    fn default() -> Self {
        Self { version: LEGACY.to_owned(), meta: None, tools_change: false }
    }
}

impl Era {
    /// The version of the protocol.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// What every request carries; `None` with a session, which knows it.
    pub(super) fn meta(&self) -> Option<&Fields> {
        self.meta.as_ref()
    }

    /// True where what the server says by itself comes on a stream of its own.
    pub(super) fn opens_stream(&self) -> bool {
        self.meta.is_none()
    }

    /// True where every request stands alone.
    pub(crate) fn is_stateless(&self) -> bool {
        self.meta.is_some()
    }
}

/// What it takes to reach a server.
pub(crate) struct Reach<'a> {
    pub(crate) config: &'a ServerConfig,
    pub(crate) launcher: &'a dyn Launcher,
    pub(crate) login: &'a Arc<Login>,
    pub(crate) host: &'a Arc<Host>,
}

/// Connects and agrees with the server on a generation. There is no time limit here but the probe's. Whoever may have to
/// tell of a failure is given the server's last words before anything is asked.
pub(crate) async fn connect(
    reach: &Reach<'_>,
    last_words: &(dyn Fn(Option<Tail>) + Send + Sync),
) -> Result<Connection, Fault> {
    let (tail, connection) = open(reach).await?;
    last_words(tail);
    let agreed = match reach.config.generation {
        Generation::Legacy => initialize(&connection).await,
        Generation::Stateless => discover(&connection).await,
        Generation::Auto => match either(&connection).await {
            // A server that ends or hangs up over a question it does not know gets a new start without it. One that ended
            // before it read the question would end again, and its reason is the first one's.
            Err(Fault::Lost(_)) if !connection.is_alive() => {
                drop(connection);
                let (tail, connection) = open(reach).await?;
                last_words(tail);
                return initialize(&connection).await.map(|()| connection);
            }
            agreed => agreed,
        },
    };
    agreed.map(|()| connection)
}

/// Asks which generation the server speaks. One that says nothing for a while is greeted in the old way too, and what it
/// answers first counts: a slow one is not taken for an old one.
async fn either(session: &Arc<Session>) -> Result<(), Fault> {
    let mut discovering = std::pin::pin!(discover(session));
    let soon = tokio::time::timeout(PROBE, &mut discovering).await;
    match soon {
        Ok(Ok(())) => Ok(()),
        Ok(Err(fault @ (Fault::Unauthorized { .. } | Fault::NotSent(_) | Fault::Lost(_)))) => Err(fault),
        Ok(Err(_)) => initialize(session).await,
        Err(_) => {
            let mut greeting = std::pin::pin!(initialize(session));
            tokio::select! {
                biased;
                discovered = &mut discovering => match discovered {
                    Ok(()) => Ok(()),
                    Err(_) => greeting.await,
                },
                greeted = &mut greeting => match greeted {
                    // It wants no greeting: then it is about to answer the first question.
                    Err(Fault::Rpc { .. }) => discovering.await,
                    greeted => greeted,
                },
            }
        }
    }
}

async fn open(reach: &Reach<'_>) -> Result<(Option<Tail>, Connection), Fault> {
    let ServerConfig { endpoint, limits, .. } = reach.config;
    match endpoint {
        Endpoint::Stdio { .. } => {
            let started = stdio::start(reach.launcher, endpoint, limits.message, reach.host.clone()).await;
            started.map(|(session, tail)| (Some(tail), Connection(session)))
        }
        Endpoint::Http { .. } => {
            let session = http::start(endpoint, limits.message, reach.login.clone(), reach.host.clone())?;
            Ok((None, Connection(session)))
        }
    }
}

fn us() -> Value {
    json!({"name": "tollgate", "version": env!("CARGO_PKG_VERSION")})
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
}

async fn initialize(session: &Arc<Session>) -> Result<(), Fault> {
    let params =
        json!({"protocolVersion": LEGACY, "capabilities": session.host.capabilities(), "clientInfo": us()});
    let answer = session.request(Request::new("initialize", &params)).await?;
    let Initialized { protocol_version, capabilities } = read(&answer)?;
    if !SPOKEN.contains(&protocol_version.as_str()) {
        let shown: String = protocol_version.chars().take(40).collect();
        return Err(Fault::Malformed(format!("it speaks version {shown:?}, which is not spoken here")));
    }
    let tools_change = changes(&capabilities);
    session.agree(Era { version: protocol_version, meta: None, tools_change });
    session.notify("notifications/initialized", None).await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
}

async fn discover(session: &Arc<Session>) -> Result<(), Fault> {
    let meta = Fields::of(&json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": us(),
        "io.modelcontextprotocol/clientCapabilities": session.host.capabilities(),
    }));
    let ask = || {
        let mut request = Request::new("server/discover", &json!({}));
        request.meta = meta.clone();
        request.headers = vec![("mcp-protocol-version".to_owned(), STATELESS.to_owned())];
        session.request(request)
    };
    let answer = match ask().await {
        // It does not want this version, and names it among those it wants: once more is what it asks for.
        Err(Fault::Rpc { code: UNSUPPORTED_VERSION, data: Some(data), .. }) if names_ours(&data) => {
            ask().await
        }
        answer => answer,
    }?;
    let Discovered { supported_versions, capabilities } = read(&answer)?;
    if !supported_versions.iter().any(|version| version == STATELESS) {
        let message = "it does not speak the stateless generation".to_owned();
        return Err(Fault::Rpc { code: UNSUPPORTED_VERSION, message, data: None });
    }
    let tools_change = changes(&capabilities);
    session.agree(Era { version: STATELESS.to_owned(), meta: Some(meta), tools_change });
    if tools_change {
        listen(session);
    }
    Ok(())
}

/// Asks a stateless server to say when its tools change, for as long as the session lasts.
fn listen(session: &Arc<Session>) {
    let session = session.clone();
    tokio::spawn(async move {
        let params = json!({"notifications": {"toolsListChanged": true}});
        let listening = session.request(Request::new("subscriptions/listen", &params));
        tokio::select! {
            // Whether it refuses or ends: then the list is asked for when the server is reached anew.
            _ = listening => {}
            () = session.ended() => {}
        }
    });
}

fn names_ours(data: &Value) -> bool {
    let supported = data.get("supported").and_then(Value::as_array);
    supported.is_some_and(|supported| supported.iter().any(|version| version == STATELESS))
}

fn changes(capabilities: &Value) -> bool {
    capabilities.pointer("/tools/listChanged").and_then(Value::as_bool).unwrap_or_default()
}

fn read<'a, T: Deserialize<'a>>(answer: &'a RawValue) -> Result<T, Fault> {
    serde_json::from_str(answer.get()).map_err(|error| Fault::Malformed(error.to_string()))
}
