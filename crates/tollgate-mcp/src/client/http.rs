//! A server behind streamable HTTP: one POST for each message, answers as JSON or as a stream of events.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tollgate::BoxFuture;

use super::{
    Era, Fault, Host, Session,
    message::{self, Envelope},
    session::{Kind, Link, Outgoing, rpc_fault},
    sse::Events,
};
use crate::{
    auth::Login,
    config::{Endpoint, shown_path},
};

const STREAM: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";

/// How often a stream that broke off before its answer is taken up again.
const RESUMES: u32 = 5;

/// How long to wait before that, where the server does not say.
const RESUME_AFTER: Duration = Duration::from_millis(500);

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// So much of an answer that is an error is looked at.
const ERROR_BODY: usize = 64 << 10;

struct Http {
    inner: Arc<Inner>,
    posts: Mutex<HashMap<u64, AbortHandle>>,
}

struct Inner {
    client: reqwest::Client,
    url: String,
    headers: header::HeaderMap,
    login: Arc<Login>,
    session: OnceLock<String>,
    limit: usize,
}

/// Makes ready to talk to the address; nothing is sent yet.
pub(super) fn start(
    endpoint: &Endpoint,
    limit: usize,
    login: Arc<Login>,
    host: Arc<Host>,
) -> Result<Arc<Session>, Fault> {
    let Endpoint::Http { url, headers, .. } = endpoint else {
        return Err(Fault::NotSent("it is no address".to_owned()));
    };
    let mut all = header::HeaderMap::new();
    for (name, value) in headers {
        let name = header::HeaderName::try_from(name.as_str());
        let value = header::HeaderValue::try_from(value.as_str());
        match (name, value) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                all.insert(name, value);
            }
            _ => return Err(Fault::NotSent("one of its headers is none".to_owned())),
        }
    }
    let client = client().map_err(|error| Fault::NotSent(error.to_string()))?;
    let inner = Inner { client, url: url.clone(), headers: all, login, session: OnceLock::new(), limit };
    Ok(Session::new(Box::new(Http { inner: Arc::new(inner), posts: Mutex::default() }), host))
}

/// A client of ours: no delay for small messages, and no redirect to another place, where our headers do not belong.
pub(crate) fn client() -> reqwest::Result<reqwest::Client> {
    // Whoever came first has installed one; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let same_place = reqwest::redirect::Policy::custom(|attempt| {
        let from = attempt.previous().last().map(reqwest::Url::origin);
        if attempt.previous().len() > 3 || from != Some(attempt.url().origin()) {
            attempt.stop()
        } else {
            attempt.follow()
        }
    });
    reqwest::Client::builder().tcp_nodelay(true).connect_timeout(CONNECT).redirect(same_place).build()
}

impl Inner {
    fn request(&self, method: Method, session: &Session) -> RequestBuilder {
        let mut request = self.client.request(method, &self.url).headers(self.headers.clone());
        if let Some(era) = session.agreed() {
            request = request.header("mcp-protocol-version", era.version());
        }
        match self.session.get() {
            Some(id) => request.header(SESSION, id),
            None => request,
        }
    }

    /// Sends, with a token where there is one; on a challenge once more with a fresh one.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Fault> {
        let again = request.try_clone();
        let token = self.login.token(&self.client, None).await?;
        let response = deliver(with_token(request, token.as_deref())).await?;
        let challenge = challenge_of(&response);
        let (Some(challenge), Some(again)) = (challenge, again) else { return Ok(response) };
        match self.login.token(&self.client, Some((&challenge, token.as_deref()))).await? {
            Some(token) => {
                let response = deliver(with_token(again, Some(&token))).await?;
                match challenge_of(&response) {
                    Some(challenge) => Err(Fault::Unauthorized { challenge: Some(challenge) }),
                    None => Ok(response),
                }
            }
            None => Err(Fault::Unauthorized { challenge: Some(challenge) }),
        }
    }

    /// Posts a request and feeds whatever comes back to the session.
    async fn post(&self, session: &Arc<Session>, id: u64, request: RequestBuilder) -> Result<(), Fault> {
        let response = self.send(request).await?;
        let status = response.status();
        if let Some(given) = response.headers().get(SESSION).and_then(|value| value.to_str().ok()) {
            let _ = self.session.set(given.to_owned());
        }
        if status == StatusCode::NOT_FOUND && self.session.get().is_some() {
            return Err(Fault::SessionGone);
        }
        if !status.is_success() {
            return Err(self.refused(response).await);
        }
        if is(&response, STREAM) {
            return self.stream(session, id, response).await;
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Err(Fault::Malformed(format!("a request was answered with {status} and no body")));
        }
        let body = bounded(response, self.limit).await?;
        session.receive(&body);
        if session.waits_for(id) {
            return Err(unmatched(&body));
        }
        Ok(())
    }

    /// Reads events until the answer is there; a stream that breaks off is taken up where it was.
    async fn stream(&self, session: &Arc<Session>, id: u64, response: Response) -> Result<(), Fault> {
        let mut events = Events::new(self.limit);
        let mut response = Some(response);
        for _ in 0..=RESUMES {
            if let Some(response) = response.take() {
                self.follow(session, response, &mut events, || !session.waits_for(id)).await?;
            }
            if !session.waits_for(id) {
                return Ok(());
            }
            let Some(last) = events.last_id.clone() else { break };
            tokio::time::sleep(events.retry_ms.map_or(RESUME_AFTER, Duration::from_millis)).await;
            let request = self.request(Method::GET, session).header(header::ACCEPT, STREAM);
            let resumed = self.send(request.header("last-event-id", last)).await;
            response = resumed.ok().filter(|response| response.status().is_success() && is(response, STREAM));
        }
        Err(Fault::Lost("the stream ended before the answer".to_owned()))
    }

    async fn follow(
        &self,
        session: &Arc<Session>,
        response: Response,
        events: &mut Events,
        done: impl Fn() -> bool,
    ) -> Result<(), Fault> {
        let mut bytes = response.bytes_stream();
        while let Some(Ok(chunk)) = bytes.next().await {
            let taken = events.push(&chunk, |data| session.receive(data));
            taken.map_err(|_| Fault::TooLarge { bytes: None, limit: self.limit })?;
            if done() {
                break;
            }
        }
        Ok(())
    }

    /// A status that is no success, as what it means.
    async fn refused(&self, response: Response) -> Fault {
        let status = response.status();
        let json = is(&response, "application/json");
        let body = bounded(response, ERROR_BODY).await.unwrap_or_default();
        if json && let Ok(Envelope { error: Some(error), .. }) = serde_json::from_slice(&body) {
            return rpc_fault(error);
        }
        let text = String::from_utf8_lossy(&body);
        let said: String = tollgate::outcome::visible(text.trim()).chars().take(200).collect();
        let told = if said.is_empty() { status.to_string() } else { format!("{status}: {said}") };
        match status {
            // Turned away at the door.
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Fault::NotSent(told),
            _ if status.is_server_error() => Fault::Lost(told),
            _ => Fault::Rpc { code: i64::from(status.as_u16()), message: told, data: None },
        }
    }

    /// Listens to what the server says by itself, while the session lasts. A server need not offer it.
    async fn listen(&self, session: &Arc<Session>) {
        let mut events = Events::new(self.limit);
        let mut fruitless = 0;
        while fruitless < RESUMES {
            let mut request = self.request(Method::GET, session).header(header::ACCEPT, STREAM);
            if let Some(last) = &events.last_id {
                request = request.header("last-event-id", last);
            }
            let Ok(response) = self.send(request).await else { return };
            if !response.status().is_success() || !is(&response, STREAM) {
                return;
            }
            let began = tokio::time::Instant::now();
            if self.follow(session, response, &mut events, || !session.is_alive()).await.is_err() {
                return;
            }
            fruitless = if began.elapsed() > Duration::from_secs(5) { 0 } else { fruitless + 1 };
            tokio::time::sleep(events.retry_ms.map_or(RESUME_AFTER, Duration::from_millis)).await;
        }
    }
}

impl Link for Http {
    fn send<'a>(&'a self, session: &'a Arc<Session>, message: Outgoing) -> BoxFuture<'a, Result<(), Fault>> {
        let mut request = self
            .inner
            .request(Method::POST, session)
            .header(header::ACCEPT, format!("application/json, {STREAM}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(message.text);
        Box::pin(async move {
            let Kind::Request { id, method, headers } = message.kind else {
                let response = self.inner.send(request).await?;
                let opens = matches!(message.kind, Kind::Notification)
                    && session.agreed().is_some_and(Era::opens_stream);
                if response.status().is_success() && opens {
                    self.open_stream(session);
                }
                return Ok(());
            };
            if session.agreed().is_none_or(|era| era.meta().is_some()) {
                request = request.header("mcp-method", method);
                for (name, value) in headers {
                    request = request.header(name, value);
                }
            }
            let (inner, own) = (self.inner.clone(), session.clone());
            let post = tokio::spawn(async move {
                let posted = tokio::select! {
                    posted = inner.post(&own, id, request) => posted,
                    () = own.ended() => return,
                };
                if let Err(fault) = posted {
                    own.fail(id, fault);
                }
            });
            let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
            posts.retain(|_, post| !post.is_finished());
            posts.insert(id, post.abort_handle());
            Ok(())
        })
    }

    fn abandon(&self, session: &Session, id: u64) {
        if let Some(post) = self.posts.lock().unwrap_or_else(PoisonError::into_inner).remove(&id) {
            post.abort();
        }
        // A stateless server sees the connection close; one with sessions must be told.
        if session.is_alive() && session.agreed().is_some_and(|era| era.meta().is_none()) {
            let params = json!({"requestId": id, "reason": "nobody waits for it any more"});
            let text = message::notification("notifications/cancelled", Some(&params));
            let request = self
                .inner
                .request(Method::POST, session)
                .header(header::ACCEPT, format!("application/json, {STREAM}"))
                .header(header::CONTENT_TYPE, "application/json")
                .body(text);
            let inner = self.inner.clone();
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { inner.send(request).await.map(drop) });
            }
        }
    }

    fn stop(&self) {
        for (_, post) in self.posts.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            post.abort();
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.stop();
        Box::pin(async {
            // A server that kept a session for us may forget it. That it cannot is nothing to us.
            if let Some(id) = self.inner.session.get() {
                let request = self.inner.client.delete(&self.inner.url).headers(self.inner.headers.clone());
                let ended = self.inner.send(request.header(SESSION, id));
                let _ = tokio::time::timeout(Duration::from_millis(500), ended).await;
            }
        })
    }
}

impl Http {
    fn open_stream(&self, session: &Arc<Session>) {
        let (inner, session) = (self.inner.clone(), session.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = inner.listen(&session) => {}
                () = session.ended() => {}
            }
        });
    }
}

async fn deliver(request: RequestBuilder) -> Result<Response, Fault> {
    request.send().await.map_err(|error| {
        let told = plain(&error);
        // Before the connection stood, nothing can have arrived.
        if error.is_connect() || error.is_builder() { Fault::NotSent(told) } else { Fault::Lost(told) }
    })
}

/// What was the matter, in the words of the first cause: those above it say little. Of the address, what is no secret.
fn plain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let at = error.url().filter(|_| error.is_connect()).and_then(|url| {
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        let path = shown_path(url.path());
        Some(format!("no connection to {}://{}{port}{path}: ", url.scheme(), url.host_str()?))
    });
    format!("{}{cause}", at.unwrap_or_default())
}

fn with_token(request: RequestBuilder, token: Option<&str>) -> RequestBuilder {
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

/// What a server says of the login it wants; `None` where it wants none.
fn challenge_of(response: &Response) -> Option<String> {
    let said = response.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(said.unwrap_or_default().to_owned()),
        StatusCode::FORBIDDEN => said.filter(|said| said.contains("insufficient_scope")).map(str::to_owned),
        _ => None,
    }
}

fn is(response: &Response, kind: &str) -> bool {
    let given = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given.is_some_and(|given| given.trim_start().to_ascii_lowercase().starts_with(kind))
}

async fn bounded(response: Response, limit: usize) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    let told = response.content_length().and_then(|length| usize::try_from(length).ok());
    let mut bytes = response.bytes_stream();
    while let Some(chunk) = bytes.next().await {
        let chunk = chunk.map_err(|error| Fault::Lost(plain(&error)))?;
        if body.len() + chunk.len() > limit {
            return Err(Fault::TooLarge { bytes: told, limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A body that answers somebody else, or nobody.
fn unmatched(body: &[u8]) -> Fault {
    match serde_json::from_slice::<Envelope<'_>>(body) {
        Ok(Envelope { error: Some(error), id, .. }) if id.is_none_or(|id| id.get() == "null") => {
            rpc_fault(error)
        }
        Ok(_) => Fault::Malformed("it answers another request".to_owned()),
        Err(_) => {
            let shown: Value = String::from_utf8_lossy(&body[..body.len().min(200)]).into();
            Fault::Malformed(format!("it is no message: {shown}"))
        }
    }
}
