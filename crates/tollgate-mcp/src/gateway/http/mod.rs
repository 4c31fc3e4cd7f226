//! Over HTTP: one address, `/mcp`, for sessions and stateless requests alike.
//!
//! Every request passes the same doors in the same order: the name of the server, the origin of the page, who asks, how
//! often; only then is a body read.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::Body,
    http::{Method, Request, Response, StatusCode, header},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use self::{idle::Idle, quiet::Quiet};
use super::{
    Gateway, Identity,
    message::{Id, RpcError, code},
};
use crate::bell::Belled;

mod guard;
mod auth;
mod jwt;
mod headers;
mod sessions;
mod stream;
mod post;
mod idle;
mod quiet;

pub use auth::{Auth, BadTokens, Tokens};
pub use guard::Names;
pub use jwt::{BadKeys, Issuer};

/// The path the protocol is spoken at.
pub const PATH: &str = "/mcp";

const METADATA: &str = "/.well-known/oauth-protected-resource";

/// What the address lets in.
#[derive(Debug)]
#[non_exhaustive]
pub struct HttpSettings {
    /// Who may ask.
    pub auth: Auth,
    /// The names of this server and of pages that may speak to it.
    pub names: Names,
    /// The longest message, in bytes.
    pub max_body: usize,
    /// How many requests each caller has a second; 0 for no limit.
    pub per_second: u32,
    /// How many connections there may be at once.
    pub connections: usize,
    /// A session nobody used for so long, and that has nothing under way, is over.
    pub session_idle: Duration,
}

impl HttpSettings {
    /// The usual limits, for callers who prove who they are like this.
    pub fn new(auth: Auth) -> Self {
        let session_idle = Duration::from_secs(60 * 60);
        Self {
            auth,
            names: Names::default(),
            max_body: 4 << 20,
            per_second: 0,
            connections: 4096,
            session_idle,
        }
    }
}

/// How long requests may finish once the server is told to end.
const GRACE: Duration = Duration::from_secs(3);

pub(super) struct Server {
    gateway: Gateway,
    settings: HttpSettings,
    rate: guard::Rate,
    sessions: sessions::Sessions,
    over: CancellationToken,
}

impl Gateway {
    /// Serves clients at this address until `over`; what is under way then has a moment to finish.
    pub async fn http(
        &self,
        listener: TcpListener,
        settings: HttpSettings,
        over: CancellationToken,
    ) -> io::Result<()> {
        let places = Arc::new(Semaphore::new(settings.connections));
        let server = Arc::new(Server {
            gateway: self.clone(),
            rate: guard::Rate::new(settings.per_second),
            sessions: sessions::Sessions::new(settings.session_idle),
            settings,
            over: over.clone(),
        });
        let mut connections = JoinSet::new();
        loop {
            let place = tokio::select! {
                biased;
                () = over.cancelled() => break,
                Ok(place) = places.clone().acquire_owned() => place,
            };
            let accepted = tokio::select! {
                biased;
                () = over.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok((stream, _)) => {
                    let server = server.clone();
                    connections.spawn(async move {
                        server.connection(stream).await;
                        drop(place);
                    });
                }
                // Out of file descriptors, most likely: those in use will be free again.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        drop(listener);
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
        server.sessions.stop();
        // Calls that were stopped settle and are recorded.
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(())
    }
}

impl Server {
    async fn connection(self: Arc<Self>, stream: TcpStream) {
        // Small answers must not wait for more to send: with Nagle's algorithm each costs 40 ms.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let (over, idle) = (self.over.clone(), Idle::new());
        let asked = idle.clone();
        let service = service_fn(move |request| {
            let (server, busy) = (self.clone(), asked.begin());
            async move {
                let response = server.handle(request).await;
                Ok::<_, Infallible>(response.map(|body| busy.until_sent(body)))
            }
        });
        let connection =
            http1::Builder::new().max_buf_size(64 << 10).serve_connection(TokioIo::new(stream), service);
        let mut connection = Quiet::new(connection);
        // Neither comes to pass with a request: both are left alone while those do.
        let beside = pin!(async {
            tokio::select! {
                () = idle.too_long() => false,
                () = over.cancelled() => true,
            }
        });
        let goes_on = tokio::select! {
            biased;
            _ = &mut connection => false,
            goes_on = Belled::new(beside) => goes_on,
        };
        if !goes_on {
            return;
        }
        Pin::new(connection.inner()).graceful_shutdown();
        tokio::select! {
            _ = connection => {}
            () = idle.too_long() => {}
        }
    }

    async fn handle(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        if let Err(why) = self.settings.names.admit(&parts.uri, &parts.headers) {
            return of_rpc(StatusCode::FORBIDDEN, None, &RpcError::invalid_request(why));
        }
        let path = parts.uri.path();
        if path.strip_prefix(METADATA).is_some_and(|rest| rest.is_empty() || rest == PATH)
            && parts.method == Method::GET
        {
            return self.metadata();
        }
        if path != PATH {
            return empty(StatusCode::NOT_FOUND);
        }
        let who = match self.settings.auth.identify(&parts.headers) {
            Ok(who) => who,
            Err(denied) => return self.unauthorized(&denied),
        };
        if let Err(wait) = self.rate.take(&who.caller) {
            let mut response = of_rpc(
                StatusCode::TOO_MANY_REQUESTS,
                None,
                &RpcError::new(code::BUSY, "too many requests; wait a little"),
            );
            let seconds = wait.as_secs() + 1;
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            return response;
        }
        match parts.method {
            Method::POST => self.post(&parts.headers, body, &who).await,
            Method::GET => self.listen(&parts.headers, &who),
            Method::DELETE => self.end(&parts.headers, &who),
            _ => not_allowed(),
        }
    }

    /// A session's own stream.
    fn listen(&self, headers: &axum::http::HeaderMap, who: &Identity) -> Response<Body> {
        if headers.get(&headers::SESSION).is_none() {
            return not_allowed();
        }
        match self.session(headers, who) {
            Ok(session) => {
                let over = self.over.child_token();
                let (ends, session_over) = (over.clone(), session.run.token().clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = session_over.cancelled() => ends.cancel(),
                        () = ends.cancelled() => {}
                    }
                });
                post::events(stream::of_session(self.gateway.inner.changes.subscribe(), over, session))
            }
            Err((status, error)) => of_rpc(status, None, &error),
        }
    }

    fn end(&self, headers: &axum::http::HeaderMap, who: &Identity) -> Response<Body> {
        match headers::only(headers, &headers::SESSION) {
            Ok(Some(id)) if self.sessions.close(id, who) => empty(StatusCode::OK),
            Ok(Some(_)) => empty(StatusCode::NOT_FOUND),
            _ => not_allowed(),
        }
    }

    /// Where a client learns who issues tokens for this server.
    fn metadata(&self) -> Response<Body> {
        match &self.settings.auth {
            Auth::Issued(issuer) => {
                let about = serde_json::json!({
                    "resource": issuer.audience(),
                    "authorization_servers": [issuer.name()],
                    "bearer_methods_supported": ["header"],
                });
                json(StatusCode::OK, about.to_string().into_bytes())
            }
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    fn unauthorized(&self, denied: &auth::Denied) -> Response<Body> {
        let (why, error) = match denied {
            auth::Denied::Missing => ("a bearer token is needed", ""),
            auth::Denied::Wrong(why) => (*why, r#", error="invalid_token""#),
        };
        let metadata = match &self.settings.auth {
            Auth::Issued(issuer) => match issuer.audience().parse::<axum::http::Uri>() {
                Ok(uri) => match (uri.scheme_str(), uri.authority()) {
                    (Some(scheme), Some(authority)) => {
                        format!(
                            r#", resource_metadata="{scheme}://{authority}{METADATA}{}""#,
                            uri.path().trim_end_matches('/')
                        )
                    }
                    _ => String::new(),
                },
                Err(_) => String::new(),
            },
            _ => String::new(),
        };
        let mut response = of_rpc(StatusCode::UNAUTHORIZED, None, &RpcError::invalid_request(why));
        if let Ok(value) = format!(r#"Bearer realm="tollgate"{error}{metadata}"#).parse() {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
        response
    }
}

fn json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn of_rpc(status: StatusCode, id: Option<Id<'_>>, error: &RpcError) -> Response<Body> {
    json(status, error.answer(id))
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn not_allowed() -> Response<Body> {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static("POST, GET, DELETE"));
    response
}
