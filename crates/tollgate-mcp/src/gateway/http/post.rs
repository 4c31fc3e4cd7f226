//! One message posted: read within limits, its revision settled, answered as JSON or as events.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Response, StatusCode, header},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use tollgate::BoxFuture;

use super::{
    Server, empty,
    headers::{self, SESSION, VERSION},
    json, of_rpc, stream,
};
use crate::{
    gateway::{
        Identity,
        message::{Message, Request, RpcError, code},
        revision::{Brought, STATELESS, WITH_SESSION},
        server::{Going, Reply},
        session::{Outlet, Session},
    },
    inbox::{Inbox, Reader},
};

/// How long a body may take to come.
const SLOWEST: Duration = Duration::from_secs(30);

impl Server {
    pub(super) async fn post(&self, headers: &HeaderMap, body: Incoming, who: &Identity) -> Response<Body> {
        if let Err(refused) = acceptable(headers) {
            return refused;
        }
        let read = tokio::time::timeout(SLOWEST, Limited::new(body, self.settings.max_body).collect()).await;
        let body = match read {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let error = RpcError::invalid_request(format!(
                    "a message has at most {} bytes",
                    self.settings.max_body
                ));
                return of_rpc(StatusCode::PAYLOAD_TOO_LARGE, None, &error);
            }
            Ok(Err(_)) | Err(_) => {
                return of_rpc(
                    StatusCode::REQUEST_TIMEOUT,
                    None,
                    &RpcError::invalid_request("the message did not come whole"),
                );
            }
        };
        self.message(headers, &body, who).await
    }

    async fn message(&self, headers: &HeaderMap, body: &Bytes, who: &Identity) -> Response<Body> {
        match Message::read(body) {
            Ok(Message::Request(request)) => self.request(headers, request, who).await,
            Ok(Message::Notification { method, params }) => self.beside(headers, who, |session| {
                crate::gateway::Gateway::told(session, &method, params);
            }),
            Ok(Message::Response { id, answer }) => {
                self.beside(headers, who, |session| session.answered(id, answer))
            }
            Err((id, error)) => of_rpc(StatusCode::BAD_REQUEST, id, &error),
        }
    }

    /// What nobody answers. A stateless client has nothing to say this way.
    fn beside(&self, headers: &HeaderMap, who: &Identity, take: impl FnOnce(&Session)) -> Response<Body> {
        match headers::only(headers, &VERSION) {
            Ok(Some(STATELESS)) => return empty(StatusCode::ACCEPTED),
            Ok(_) => {}
            Err(error) => return of_rpc(StatusCode::BAD_REQUEST, None, &error),
        }
        match self.session(headers, who) {
            Ok(session) => {
                take(&session);
                empty(StatusCode::ACCEPTED)
            }
            Err((status, error)) => of_rpc(status, None, &error),
        }
    }

    async fn request(&self, headers: &HeaderMap, request: Request<'_>, who: &Identity) -> Response<Body> {
        let id = request.id;
        let (version, brought) = match (headers::only(headers, &VERSION), Brought::of(request.params)) {
            (Ok(version), Ok(brought)) => (version, brought),
            (Err(error), _) | (_, Err(error)) => return of_rpc(StatusCode::BAD_REQUEST, Some(id), &error),
        };
        let stateless = version == Some(STATELESS)
            || brought.meta.version.is_some()
            || request.method == "server/discover";
        if stateless {
            return self.stateless(headers, &request, &brought, who).await;
        }
        if let Some(version) = version.filter(|version| !WITH_SESSION.contains(version)) {
            let error = crate::gateway::revision::unsupported(version);
            return of_rpc(StatusCode::BAD_REQUEST, Some(id), &error);
        }
        if request.method == "initialize" {
            return self.initialize(&request, who);
        }
        let session = match self.session(headers, who) {
            Ok(session) => session,
            Err((status, error)) => return of_rpc(status, Some(id), &error),
        };
        let Some(client) = session.client() else {
            return of_rpc(
                StatusCode::BAD_REQUEST,
                Some(id),
                &RpcError::invalid_request("the session was not begun"),
            );
        };
        let (outlet, messages) = Inbox::new();
        let outlet: Arc<dyn Outlet> = outlet;
        let going = self.gateway.answer(&session, &client, &request, &brought, &outlet);
        self.respond(going, messages, Legacy::Yes).await
    }

    fn initialize(&self, request: &Request<'_>, who: &Identity) -> Response<Body> {
        let (reply, client) = match self.gateway.initialize(request.id, request.params) {
            Ok(begun) => begun,
            Err(error) => return of_rpc(StatusCode::BAD_REQUEST, Some(request.id), &error),
        };
        let Some((session_id, session)) = self.sessions.open(&self.gateway, who) else {
            let error = RpcError::new(code::BUSY, "there are too many sessions; end some first");
            return of_rpc(StatusCode::SERVICE_UNAVAILABLE, Some(request.id), &error);
        };
        session.introduce(client);
        let mut response = json(StatusCode::OK, reply.body);
        if let Ok(value) = session_id.parse() {
            response.headers_mut().insert(SESSION, value);
        }
        response
    }

    async fn stateless(
        &self,
        headers: &HeaderMap,
        request: &Request<'_>,
        brought: &Brought<'_>,
        who: &Identity,
    ) -> Response<Body> {
        let id = request.id;
        let known = headers::same_revision(headers, &brought.meta).and_then(|()| brought.meta.stateless());
        let client = match known {
            Ok(client) => client,
            Err(error) => return of_rpc(StatusCode::BAD_REQUEST, Some(id), &error),
        };
        let listed = self.gateway.listed(who.route.as_ref());
        if let Err(error) = headers::same_words(headers, &request.method, brought, &listed) {
            return of_rpc(StatusCode::BAD_REQUEST, Some(id), &error);
        }
        let session = self.sessions.shared(&self.gateway, who);
        let (outlet, messages) = Inbox::new();
        let outlet: Arc<dyn Outlet> = outlet;
        let going = self.gateway.answer(&session, &client, request, brought, &outlet);
        self.respond(going, messages, Legacy::No).await
    }

    /// The session a request names. Without a name there is nothing to do; a name that is none is gone.
    pub(super) fn session(
        &self,
        headers: &HeaderMap,
        who: &Identity,
    ) -> Result<Arc<Session>, (StatusCode, RpcError)> {
        let id = headers::only(headers, &SESSION).map_err(|error| (StatusCode::BAD_REQUEST, error))?;
        let Some(id) = id else {
            let error = RpcError::invalid_request(
                "begin a session with `initialize`, then name it in Mcp-Session-Id",
            );
            return Err((StatusCode::BAD_REQUEST, error));
        };
        self.sessions.get(id, who).ok_or_else(|| {
            (
                StatusCode::NOT_FOUND,
                RpcError::invalid_request("there is no such session any more; begin another"),
            )
        })
    }

    /// As JSON where the answer is all there is to say, else as events.
    async fn respond(&self, going: Going, mut messages: Reader<Vec<u8>>, legacy: Legacy) -> Response<Body> {
        let mut answer: BoxFuture<'static, Reply> = match going {
            Going::Done(reply) => Box::pin(std::future::ready(reply)),
            Going::On(reply) => reply,
            Going::Listens(listening) => {
                let changes = self.gateway.inner.changes.subscribe();
                return events(stream::of_subscription(listening, changes, self.over.clone()));
            }
        };
        let first = tokio::select! {
            biased;
            reply = &mut answer => {
                let Some(first) = messages.pop() else {
                    let status = legacy.status(reply.error);
                    return json(status, reply.body);
                };
                answer = Box::pin(std::future::ready(reply));
                first
            }
            first = messages.next() => first,
        };
        events(stream::until_answered(vec![first], messages, answer))
    }
}

/// Whether a client knows of the status codes of the stateless revision.
#[derive(Clone, Copy)]
enum Legacy {
    Yes,
    No,
}

impl Legacy {
    fn status(self, error: Option<i32>) -> StatusCode {
        match (self, error) {
            (Self::No, Some(code::METHOD_NOT_FOUND)) => StatusCode::NOT_FOUND,
            (
                Self::No,
                Some(code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION),
            ) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        }
    }
}

pub(super) fn events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache, no-transform"));
    response
}

/// What clients accept, in the words that nearly all of them use.
const USUAL: [&str; 2] = ["application/json, text/event-stream", "text/event-stream, application/json"];

/// JSON comes in; JSON or events go out, as the server chooses.
fn acceptable(headers: &HeaderMap) -> Result<(), Response<Body>> {
    let text = |name| {
        headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok()).unwrap_or_default()
    };
    // As clients write them; read with care only where they write otherwise.
    if text(header::CONTENT_TYPE) == "application/json" && USUAL.contains(&text(header::ACCEPT)) {
        return Ok(());
    }
    let kind = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let error = RpcError::invalid_request("the Content-Type must be application/json");
        return Err(of_rpc(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, &error));
    }
    let (mut json, mut events) = (false, false);
    for one in text(header::ACCEPT).split(',') {
        let one = one.split(';').next().unwrap_or_default().trim();
        json |= any_of(one, ["application/json", "application/*", "*/*"]);
        events |= any_of(one, ["text/event-stream", "text/*", "*/*"]);
    }
    if !json || !events {
        let error = RpcError::invalid_request("Accept must have both application/json and text/event-stream");
        return Err(of_rpc(StatusCode::NOT_ACCEPTABLE, None, &error));
    }
    Ok(())
}

fn any_of(one: &str, kinds: [&str; 3]) -> bool {
    kinds.iter().any(|kind| one.eq_ignore_ascii_case(kind))
}
