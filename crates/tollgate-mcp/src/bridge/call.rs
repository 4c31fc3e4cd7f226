//! A permitted call goes to its server and comes back as one outcome, told by what it means for the effect.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use tollgate::{Cx, Failure, Output, tool::IdempotencyKey};

use super::{
    answer::{Answer, Blocks},
    upstream::{Down, Offered, Standing, Upstream},
};
use crate::{
    client::{Asked, Connection, Fault, Fields, Progressed, Request, headers_of_call},
    config::Endpoint,
    inbox::Inbox,
};

/// How often a server may ask back during one call.
const ROUNDS: usize = 10;

/// Runs one call. The server hears of it when nobody waits any more.
pub(super) async fn run(
    upstream: Arc<Upstream>,
    offered: Arc<Offered>,
    cx: &Cx,
    args: &Value,
) -> Result<Output, Failure> {
    let (upstream, offered) = (&upstream, &offered);
    let connection = tokio::select! {
        biased;
        connection = upstream.connection() => connection.map_err(|down| unreachable(upstream, &down))?,
        () = cx.cancelled() => return Err(Failure::retryable("The call was stopped before its server was reached.")),
    };
    cx.connected();
    still_the_same(upstream, offered)?;
    let call = Outgoing { upstream, offered, cx, args };
    match call.walk(&connection).await {
        // The server refused it unread: once more in a new session is safe.
        Err(Stopped::Fault(Fault::SessionGone)) => {
            upstream.give_up(&connection);
            Box::pin(call.again()).await
        }
        walked => call.settled(&connection, walked),
    }
}

/// What a definition that is no longer the pinned one says to a call that was already on its way.
fn still_the_same(upstream: &Upstream, offered: &Offered) -> Result<(), Failure> {
    let name = offered.definition.name.as_str();
    let now = upstream.offers(name);
    match now {
        Some(now) if now.definition.hash == offered.definition.hash && now.standing == Standing::Pinned => {
            Ok(())
        }
        Some(_) => Err(Failure::fatal(format!(
            "The server {} defines `{name}` otherwise now. It was not called.",
            upstream.config.name
        ))
        .with_hint("Ask the person to look at the change and approve it: `tollgate mcp check`.")),
        None => {
            Err(Failure::fatal(format!("The server {} has no tool `{name}` any more.", upstream.config.name))
                .with_hint("Use another tool."))
        }
    }
}

struct Outgoing<'a> {
    upstream: &'a Arc<Upstream>,
    offered: &'a Offered,
    cx: &'a Cx,
    args: &'a Value,
}

/// A call as it goes out.
#[derive(Serialize)]
struct Params<'a> {
    name: &'a str,
    arguments: &'a Value,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Meta<'a> {
    traceparent: String,
    #[serde(rename = "tollgate/idempotencyKey", skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

enum Stopped {
    Fault(Fault),
    Failure(Failure),
    Cancelled,
}

// What few calls need is boxed: the others do not carry the room for it with them.
impl Outgoing<'_> {
    /// Makes the call in a new session.
    async fn again(&self) -> Result<Output, Failure> {
        let connection =
            self.upstream.connection().await.map_err(|down| unreachable(self.upstream, &down))?;
        still_the_same(self.upstream, self.offered)?;
        self.settled(&connection, self.walk(&connection).await)
    }

    /// Sends the call, and again with what the server asks for, until it is answered.
    async fn walk(&self, connection: &Arc<Connection>) -> Result<Answer, Stopped> {
        let mut more = Map::new();
        for _ in 0..ROUNDS {
            let answer = self.send(connection, &more).await?;
            if !answer.wants_input() {
                return Ok(answer);
            }
            more = Box::pin(self.input(connection, answer)).await;
        }
        let message = format!("The server asked back more than {ROUNDS} times during one call.");
        Err(Stopped::Failure(self.in_doubt(message)))
    }

    async fn send(&self, connection: &Arc<Connection>, more: &Map<String, Value>) -> Result<Answer, Stopped> {
        let name = self.offered.definition.name.as_str();
        let (told, mut progress) = Inbox::new();
        let mut request = Request::new("tools/call", &Params { name, arguments: self.args, more });
        request.meta = Fields::of(&self.meta());
        request.progress = Some(told);
        request.asked = Some(self.asked());
        if connection.era().is_stateless() && matches!(self.upstream.config.endpoint, Endpoint::Http { .. }) {
            request.headers = headers_of_call(name, &self.offered.definition.input_schema, self.args);
        }
        let limit = self.upstream.config.timeouts.call;
        let mut answer = std::pin::pin!(connection.request(request));
        let mut late = std::pin::pin!(self.cx.hourglass().run_out(limit));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    let answer = answer.map_err(Stopped::Fault)?;
                    return Answer::read(answer.get()).map_err(Stopped::Failure);
                }
                () = &mut late => return Err(Stopped::Fault(Fault::Silent(limit.as_millis()))),
                () = self.cx.cancelled() => return Err(Stopped::Cancelled),
                Progressed { done, total, message } = progress.next() => {
                    let fraction = total.filter(|total| *total > 0.0).map_or(0.0, |total| done / total);
                    self.cx.progress(fraction, message);
                }
            }
        }
    }

    /// What goes along with every call: the trace it belongs to, and the key under which it takes effect once.
    fn meta(&self) -> Meta<'_> {
        Meta {
            traceparent: self.cx.traceparent().to_string(),
            key: self.cx.idempotency_key().map(IdempotencyKey::as_str),
        }
    }

    fn asked(&self) -> Asked {
        Asked {
            caller: self.cx.caller.clone(),
            run: self.cx.run.id().clone(),
            call: self.cx.call_id().clone(),
            peer: self.cx.peer.clone(),
            time: self.cx.hourglass().clone(),
        }
    }

    /// Answers what the server wants to know before it goes on.
    async fn input(&self, connection: &Arc<Connection>, answer: Answer) -> Map<String, Value> {
        // A question that is not answered is left out; the server sees that it is missing.
        let questions = answer.input_requests.unwrap_or_default();
        let responses = connection.host().answer_all(&questions, &self.asked()).await;
        let mut more = Map::new();
        if !responses.is_empty() {
            more.insert("inputResponses".to_owned(), Value::Object(responses));
        }
        more.extend(answer.request_state.map(|state| ("requestState".to_owned(), state)));
        more
    }

    fn settled(
        &self,
        connection: &Arc<Connection>,
        walked: Result<Answer, Stopped>,
    ) -> Result<Output, Failure> {
        match walked {
            Ok(answer) => {
                self.upstream.is_well();
                answer.settle(if self.cx.peer.is_some() { Blocks::AsTheyAre } else { Blocks::ForModels })
            }
            Err(Stopped::Failure(failure)) => Err(failure),
            Err(Stopped::Cancelled) => {
                Err(self.in_doubt("The call was stopped while the server worked on it.".to_owned()))
            }
            Err(Stopped::Fault(fault)) => Err(self.failed(connection, &fault)),
        }
    }

    fn failed(&self, connection: &Arc<Connection>, fault: &Fault) -> Failure {
        let server = &self.upstream.config.name;
        match fault {
            Fault::Rpc { message, .. } => {
                // It speaks: it is well, and says no.
                self.upstream.is_well();
                let said: String = message.chars().take(2000).collect();
                Failure::fatal(format!("The server {server} refused the call: {said}")).untrusted()
            }
            Fault::TooLarge { bytes, limit } => {
                // It was read away to its end: the connection goes on, and is well.
                self.upstream.is_well();
                let size =
                    bytes.map_or_else(|| "more than is taken".to_owned(), |bytes| format!("{bytes} bytes"));
                let message = format!(
                    "The server {server} answered with {size}; up to {limit} are taken, and the answer was dropped."
                );
                let hint = format!(
                    "The call has run: do not repeat it as it is. Ask for less or for a part; a person can let more \
                     through with `max_message_bytes` in [mcp.servers.{server}]."
                );
                Failure::fatal(message).with_hint(hint)
            }
            Fault::Malformed(why) => {
                self.in_doubt(format!("The answer of the server {server} could not be understood: {why}."))
            }
            fault if fault.before_effect() => {
                if matches!(fault, Fault::SessionGone) {
                    self.upstream.give_up(connection);
                }
                let failure = Failure::retryable(format!(
                    "The server {server} could not be reached: {fault}. Nothing happened."
                ));
                match fault {
                    Fault::Unauthorized { .. } => failure.with_hint(login_hint(self.upstream)),
                    _ => failure,
                }
            }
            fault => self.in_doubt(format!("The server {server} did not answer: {fault}.")),
        }
    }

    /// A call that reached its server and has no answer: a read is safe to repeat, nothing else is.
    fn in_doubt(&self, message: String) -> Failure {
        if self.upstream.config.trust && self.offered.definition.hints.read_only {
            return Failure::retryable(message).untrusted();
        }
        Failure::unknown(message)
            .with_hint("Look up whether it took effect before you call it again.")
            .untrusted()
    }
}

fn unreachable(upstream: &Upstream, down: &Down) -> Failure {
    let message = format!("The server {} is not there: {}", upstream.config.name, down.reason);
    let failure = Failure::retryable(message).after(down.retry_after).untrusted();
    if down.wants_login {
        return failure.with_hint(login_hint(upstream));
    }
    failure.with_hint("Nothing happened. Do without it, or try again later.")
}

fn login_hint(upstream: &Upstream) -> String {
    format!("Ask the person to log in: `tollgate mcp login {}`.", upstream.config.name)
}
