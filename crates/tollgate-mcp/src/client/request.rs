//! A request and its one answer. Whoever stops waiting has the server told.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Asked, Era, Fault, Session,
    message::{self, Fields},
    session::{Kind, Outgoing},
};
use crate::inbox::Inbox;

/// How far a call is, as the server said last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Progressed {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}

/// What is asked of a server.
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) params: Fields,
    /// What its `_meta` has beside what the session adds.
    pub(crate) meta: Fields,
    /// Where progress goes, for a request that wants any.
    pub(crate) progress: Option<Arc<Inbox<Progressed>>>,
    /// Whose call it is, for a request that is one.
    pub(crate) asked: Option<Asked>,
    /// Headers of its own, for servers behind HTTP.
    pub(crate) headers: Vec<(String, String)>,
}

impl Request {
    pub(crate) fn new(method: &'static str, params: &impl Serialize) -> Self {
        Self {
            method,
            params: Fields::of(params),
            meta: Fields::default(),
            progress: None,
            asked: None,
            headers: Vec::new(),
        }
    }
}

impl Session {
    /// Sends a request and waits for its answer. There is no time limit here: dropping the future is the way to stop,
    /// and the server is told.
    pub(crate) async fn request(self: &Arc<Self>, request: Request) -> Result<Box<RawValue>, Fault> {
        if !self.is_alive() {
            return Err(Fault::NotSent(self.reason()));
        }
        let id = self.next_id();
        let meta = [Some(&request.meta), self.agreed().and_then(Era::meta)];
        let text = message::request(id, request.method, &request.params, meta, request.progress.is_some());
        let answer = self.wait_for(id, request.progress, request.asked);
        // From here on, whoever drops this future leaves the entry to the guard.
        let guard = Abandon { session: self, id };
        let kind = Kind::Request { id, method: request.method, headers: request.headers };
        if let Err(fault) = self.link.send(self, Outgoing { text, kind }).await {
            self.forget(id);
            return Err(fault);
        }
        let answered = answer.await.unwrap_or_else(|_| Err(Fault::Lost(self.reason())));
        drop(guard);
        answered
    }
}

struct Abandon<'a> {
    session: &'a Arc<Session>,
    id: u64,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if self.session.forget(self.id) {
            self.session.link.abandon(self.session, self.id);
        }
    }
}
