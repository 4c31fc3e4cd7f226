//! The governed pool, served to any client of MCP: over stdio or streamable HTTP, in both generations of the protocol.
//!
//! A message is read ([`message`]), its revision settled ([`revision`]), answered by [`Gateway`]; a call walks the one
//! path with the client as its peer. No door here can reach a tool's body around the gate.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;
use tollgate::{
    Scope, Tollgate,
    guard::{Repetition, Run},
    tool::{Caller, Route},
};

mod message;
mod revision;
mod session;
mod peer;
mod walk;
mod rounds;
mod list;
mod catalogue;
mod answer;
mod call;
mod server;
mod ask;
mod random;
mod stdio;
pub mod http;

pub use ask::Asking;
pub use session::Identity;

/// A gate behind the protocol. Cheap to clone; clones are the same gateway.
#[derive(Clone)]
pub struct Gateway {
    inner: Arc<Inner>,
}

struct Inner {
    gate: Tollgate,
    scope: Scope,
    asking: Asking,
    settings: Settings,
    lists: list::Lists,
    rounds: rounds::Rounds,
    changes: watch::Sender<u64>,
    runs: AtomicU64,
    name: String,
}

/// How a gateway shows itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// With more tools than this, clients get three tools that find, describe and call the others.
    pub threshold: usize,
    /// How long a client of the stateless revision may keep the list of tools.
    pub list_life: Duration,
    /// What a client's model is told about this server.
    pub instructions: Option<String>,
    /// Tools of servers go by the names they have there, where no other tool does.
    pub plain_names: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threshold: 60, list_life: Duration::from_secs(30), instructions: None, plain_names: false }
    }
}

impl Gateway {
    /// Serves this gate. `scope` is what all calls share; caller, route and run are each client's own. `asking` must be
    /// the approver the gate was built with.
    pub fn new(gate: Tollgate, scope: Scope, asking: Asking, settings: Settings) -> Self {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!("mcp-{:x}-{:x}", now.as_millis(), std::process::id());
        Self {
            inner: Arc::new(Inner {
                gate,
                scope,
                asking,
                settings,
                lists: list::Lists::default(),
                rounds: rounds::Rounds::default(),
                changes: watch::Sender::new(0),
                runs: AtomicU64::new(0),
                name,
            }),
        }
    }

    /// The tools are other ones now: clients that want to know are told.
    pub fn tools_changed(&self) {
        self.inner.changes.send_modify(|count| *count += 1);
    }

    /// The list of tools as clients get it now, as text: equal texts are the same tools.
    pub fn tools(&self) -> Arc<str> {
        list::Listed::make(
            self.inner.gate.snapshot(),
            self.inner.scope.route.as_ref(),
            list::Shape { threshold: usize::MAX, plain_names: false },
        )
        .json
    }

    /// The gate.
    pub fn gate(&self) -> &Tollgate {
        &self.inner.gate
    }

    fn listed(&self, route: Option<&Route>) -> Arc<list::Listed> {
        let Settings { threshold, plain_names, .. } = self.inner.settings;
        let route = route.or(self.inner.scope.route.as_ref());
        self.inner.lists.get(&self.inner.gate, route, list::Shape { threshold, plain_names })
    }

    /// A run of its own for one conversation. Calls come one by one and in no turns, so none repeats another's turn.
    fn run(&self) -> Run {
        let number = self.inner.runs.fetch_add(1, Ordering::Relaxed);
        Run::builder(format!("{}-{number:x}", self.inner.name)).repetition(Repetition::Allowed).build()
    }
}

impl Identity {
    /// Somebody by name, who sees what the route shows.
    pub fn new(caller: impl AsRef<str>, route: Option<&str>) -> Self {
        Self { caller: Caller::new(caller), route: route.map(Route::new) }
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}
