//! The server: judges a request, remembers it, and answers with the next thing it was told to say.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response, StatusCode, Uri},
    serve::ListenerExt as _,
};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use super::{Refused, Say, render, rules, say::What};
use crate::{
    model::Retries,
    price::Models,
    provider::{Account, Api, Client, Secret, Settings},
};

/// A stand-in for the three APIs. Ends when it is dropped.
#[derive(Debug)]
pub struct StandIn {
    address: SocketAddr,
    inner: Arc<Inner>,
    serving: JoinHandle<()>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Through which API.
    pub api: Api,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Value,
    /// Its body as it was sent.
    pub bytes: Bytes,
    /// When.
    pub at: Instant,
}

#[derive(Debug, Default)]
struct Inner {
    says: Mutex<VecDeque<Say>>,
    seen: Mutex<Vec<Seen>>,
    refused: Mutex<Vec<Refused>>,
}

/// The key the stand-in takes.
const KEY: &str = "sk-standin-0123456789abcdef";

impl StandIn {
    /// Starts on a free port of loopback.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        // Small answers would wait 40 ms for an acknowledgement otherwise.
        let listener = listener.tap_io(|socket| {
            let _ = socket.set_nodelay(true);
        });
        let inner = Arc::new(Inner::default());
        let app = Router::new().fallback(answer).with_state(inner.clone());
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { address, inner, serving })
    }

    /// Adds a reply to the list.
    pub fn say(&self, say: Say) -> &Self {
        lock(&self.inner.says).push_back(say);
        self
    }

    /// The requests that were taken, in order.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.inner.seen).clone()
    }

    /// The requests that were refused, and by which rule. Empty where all is well.
    pub fn refused(&self) -> Vec<Refused> {
        lock(&self.inner.refused).clone()
    }

    /// How many replies are still to be given.
    pub fn left(&self) -> usize {
        lock(&self.inner.says).len()
    }

    /// The base URL for an API.
    pub fn url(&self, api: Api) -> String {
        match api {
            Api::Anthropic => format!("http://{}", self.address),
            Api::OpenAi | Api::Chat => format!("http://{}/v1", self.address),
        }
    }

    /// The key it takes.
    pub const fn key() -> &'static str {
        KEY
    }

    /// Settings that lead here, with quick retries.
    pub fn settings(&self) -> Settings {
        let account =
            |api| Account { key: Secret::new(KEY), base_url: Some(self.url(api)), ..Account::default() };
        let quick = std::time::Duration::from_millis(2);
        Settings {
            anthropic: account(Api::Anthropic),
            openai: account(Api::OpenAi),
            retries: Retries { first: quick, ..Retries::default() },
            ..Settings::default()
        }
    }

    /// A client that asks here.
    ///
    /// # Panics
    /// Where the name is none.
    #[expect(clippy::panic, reason = "a mistake in a test shows in the test")]
    pub fn model(&self, name: &str) -> Client {
        self.model_with(name, self.settings()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A client with settings of its own.
    pub fn model_with(&self, name: &str, settings: Settings) -> Result<Client, crate::model::ModelError> {
        Client::new(name.parse()?, settings, &Models::builtin())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State(inner): State<Arc<Inner>>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response<Body> {
    let api = match uri.path() {
        "/v1/messages" => Api::Anthropic,
        "/v1/responses" => Api::OpenAi,
        "/v1/chat/completions" => Api::Chat,
        _ => return response(404, &[("content-type", "text/html")], Body::from("<html>Not found</html>")),
    };
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if let Err(refused) = rules::judge(api, &headers, &body) {
        let answer = refused.body(api);
        let status = refused.status;
        lock(&inner.refused).push(refused);
        return response(status, &[("content-type", "application/json")], Body::from(answer));
    }
    let stream = body["stream"] == true;
    lock(&inner.seen).push(Seen { api, headers, body, bytes, at: Instant::now() });
    let Some(say) = lock(&inner.says).pop_front() else {
        let spent = Refused::new(500, "no_reply_left", "the stand-in has nothing more to say");
        let answer = spent.body(api);
        lock(&inner.refused).push(spent);
        return response(500, &[("content-type", "application/json")], Body::from(answer));
    };
    let Say { what, delivery } = say;
    match what {
        What::Raw { status, headers, body } => {
            let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            response(status, &headers, delivery.body(body))
        }
        What::Turn(turn) if stream && !delivery.whole => {
            let text = render::stream(api, &turn, &delivery);
            let headers =
                [("content-type", "text/event-stream; charset=utf-8"), ("request-id", "req_standin")];
            response(200, &headers, delivery.body(text.into_bytes()))
        }
        What::Turn(turn) => {
            let text = render::whole(api, &turn).to_string();
            response(200, &[("content-type", "application/json")], delivery.body(text.into_bytes()))
        }
    }
}

fn response(status: u16, headers: &[(&str, &str)], body: Body) -> Response<Body> {
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap_or_default());
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
