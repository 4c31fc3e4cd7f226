//! The client as the path sees it: told of progress and logs, asked where it said that it can answer.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json, value::RawValue};
use tokio::sync::oneshot;
use tollgate::{
    BoxFuture,
    event::Progress,
    tool::{Answers, CallId, Peer, PeerFault, Requests},
};

use super::{
    message,
    revision::{Client, Era, Level, Meta},
    session::{Outlet, PATIENCE, Session, lock},
};
use crate::inbox::{Inbox, Reader};

/// The client behind one call.
#[derive(Debug)]
pub(crate) struct ClientPeer {
    client: Arc<Client>,
    outlet: Arc<dyn Outlet>,
    progress: Option<Token>,
    way: Way,
    // The capability a body wanted and the client never said it has.
    lacking: Mutex<Option<&'static str>>,
}

/// How questions reach the client.
#[derive(Debug)]
enum Way {
    /// As requests, while the call goes on.
    Live(Arc<Session>),
    /// As the answer to its own request, which it then makes again.
    Rounds { asks: Arc<Inbox<Ask>>, brought: Mutex<Answers> },
}

/// What a call wants to know before it can go on.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) requests: Requests,
    pub(crate) answer: oneshot::Sender<Answers>,
}

/// What progress is told under, and how far it was told last.
#[derive(Debug)]
struct Token {
    token: Box<RawValue>,
    told: AtomicU32,
}

/// Progress is told in hundredths.
const WHOLE: f32 = 100.0;

impl ClientPeer {
    pub(crate) fn live(
        session: &Arc<Session>,
        client: &Arc<Client>,
        outlet: &Arc<dyn Outlet>,
        meta: &Meta<'_>,
    ) -> Self {
        Self::new(client, outlet, meta, Way::Live(session.clone()))
    }

    /// A client that is asked in rounds; `brought` is what it answered without being asked in this one.
    pub(crate) fn in_rounds(
        client: &Arc<Client>,
        outlet: &Arc<dyn Outlet>,
        meta: &Meta<'_>,
        brought: Answers,
    ) -> (Self, Reader<Ask>) {
        let (asks, asked) = Inbox::new();
        (Self::new(client, outlet, meta, Way::Rounds { asks, brought: Mutex::new(brought) }), asked)
    }

    fn new(client: &Arc<Client>, outlet: &Arc<dyn Outlet>, meta: &Meta<'_>, way: Way) -> Self {
        let token = meta.progress.filter(|token| {
            token.get().starts_with(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        });
        let progress = token.map(|token| Token { token: token.to_owned(), told: AtomicU32::new(u32::MAX) });
        Self { client: client.clone(), outlet: outlet.clone(), progress, way, lacking: Mutex::default() }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The capability the call failed for.
    pub(crate) fn lacking(&self) -> Option<&'static str> {
        *lock(&self.lacking)
    }
}

impl Peer for ClientPeer {
    fn can(&self, method: &str) -> bool {
        match method {
            "elicitation/create" => self.client.shows_forms(),
            method => self.client.can(method),
        }
    }

    fn ask(&self, requests: Requests) -> BoxFuture<'_, Result<Answers, PeerFault>> {
        Box::pin(async move {
            if let Some(unable) = requests.values().find(|request| !self.client.can(&request.method)) {
                *lock(&self.lacking) = Client::capability_for(&unable.method);
                return Err(PeerFault::Unable(unable.method.clone()));
            }
            match &self.way {
                Way::Live(session) => session.ask(&*self.outlet, requests).await,
                Way::Rounds { asks, brought } => {
                    let brought = std::mem::take(&mut *lock(brought));
                    if requests.keys().all(|key| brought.get(key).is_some_and(Value::is_object)) {
                        return Ok(brought
                            .into_iter()
                            .filter(|(key, _)| requests.contains_key(key))
                            .collect());
                    }
                    let (answer, answered) = oneshot::channel();
                    if !asks.push(Ask { requests, answer }) {
                        return Err(PeerFault::Gone);
                    }
                    let answered = tokio::time::timeout(PATIENCE, answered).await;
                    answered.map_err(|_| PeerFault::Gone)?.map_err(|_| PeerFault::Gone)
                }
            }
        })
    }

    fn notify(&self, method: &str, params: Value) {
        if method != "notifications/message" || !self.wants(&params) {
            return;
        }
        self.outlet.send(message::notification(method, &params));
    }

    fn progress(&self, _: &CallId, progress: &Progress) {
        let Some(Token { token, told }) = &self.progress else { return };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a fraction, in hundredths of a hundredth"
        )]
        let far = (progress.fraction.clamp(0.0, 1.0) * WHOLE * WHOLE) as u32;
        // The protocol has it grow each time.
        let grown = told.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| {
            (before == u32::MAX || far > before).then_some(far)
        });
        if grown.is_err() {
            return;
        }
        let mut params =
            json!({"progressToken": token, "progress": progress.fraction * WHOLE, "total": WHOLE});
        if !progress.message.is_empty() {
            params["message"] = (*progress.message).into();
        }
        self.outlet.send(message::notification("notifications/progress", &params));
    }
}

impl ClientPeer {
    /// True when the client reads logs of this level. In a session it reads all until it says otherwise.
    fn wants(&self, params: &Value) -> bool {
        let level = params.get("level").and_then(|level| serde_json::from_value::<Level>(level.clone()).ok());
        match (self.client.log, self.client.era) {
            (Some(from), _) => level.is_some_and(|level| level >= from),
            (None, Era::Session) => level.is_some(),
            (None, Era::Stateless) => false,
        }
    }
}
