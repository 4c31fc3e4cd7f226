//! What a server may ask of us, and who answers: the person, the model, or nobody.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Map, Value, json};
use tollgate::{
    BoxFuture,
    guard::Hourglass,
    tool::{CallId, Caller, Peer, PeerFault, PeerRequest, RunId},
};

use super::message::{INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::config::ServerName;

/// The call during which a server asks.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Who proposed it.
    pub caller: Caller,
    /// In which run.
    pub run: RunId,
    /// The call's own id.
    pub call: CallId,
    /// Where the call came from, where that side can be asked.
    pub peer: Option<Arc<dyn Peer>>,
    /// Its time, which stands still while somebody is asked.
    pub time: Hourglass,
}

/// A server's question to the person.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Elicitation {
    /// Who asks.
    pub server: ServerName,
    /// During which call; `None` where that is not certain.
    pub during: Option<Asked>,
    /// The question, hidden characters made visible.
    pub message: String,
    /// What the answer must look like; `None` where the person is sent to an address instead.
    pub schema: Option<Value>,
    /// The address, where there is one.
    pub url: Option<String>,
    /// The request as it came, for whoever passes it on.
    pub params: Value,
}

/// What the person said.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// Yes, with this.
    Accept(Option<Value>),
    /// No.
    Decline,
    /// Neither.
    Cancel,
}

/// Puts servers' questions to a person. A server is never answered without one.
pub trait Elicitor: Send + Sync + 'static {
    /// Asks. Dropped when the call it belongs to is over.
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, ElicitationAnswer>;
}

/// Has the model write for a server that may ask for it.
pub trait Sampler: Send + Sync + 'static {
    /// Answers a `sampling/createMessage`, or says why not.
    fn sample(&self, server: &ServerName, params: Value) -> BoxFuture<'_, Result<Value, String>>;
}

/// Nobody to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPerson;

/// No model.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSampler;

impl Elicitor for NoPerson {
    fn elicit(&self, _: Elicitation) -> BoxFuture<'_, ElicitationAnswer> {
        Box::pin(async { ElicitationAnswer::Decline })
    }
}

impl Sampler for NoSampler {
    fn sample(&self, _: &ServerName, _: Value) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(async { Err("there is no model to ask here".to_owned()) })
    }
}

/// What one server finds on our side.
pub(crate) struct Host {
    pub(crate) server: ServerName,
    pub(crate) elicitor: Arc<dyn Elicitor>,
    pub(crate) sampler: Arc<dyn Sampler>,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) may_elicit: bool,
    pub(crate) may_sample: bool,
    pub(crate) sees_roots: bool,
}

type Answered = Result<Value, (i64, String)>;

impl Host {
    /// What the server is told it may ask for.
    pub(super) fn capabilities(&self) -> Value {
        let mut capabilities = json!({});
        if self.sees_roots {
            capabilities["roots"] = json!({});
        }
        if self.may_sample {
            capabilities["sampling"] = json!({});
        }
        // Said to every server that may: whether somebody is there is known when it asks, and may change.
        if self.may_elicit {
            capabilities["elicitation"] = json!({"form": {}, "url": {}});
        }
        capabilities
    }

    /// Answers one question of the server's.
    pub(crate) async fn answer(&self, method: &str, params: &Value, during: Option<Asked>) -> Answered {
        let _still = during.as_ref().map(|during| during.time.hold());
        match method {
            "ping" => Ok(json!({})),
            "roots/list" if self.sees_roots => Ok(json!({"roots": self.roots()})),
            // Whoever made the call answers what its server asks, where it can.
            "elicitation/create" if self.may_elicit => match peer_of(method, during.as_ref()) {
                Some(peer) => self.pass_on(&*peer, method, params).await,
                None => self.elicit(params, during).await,
            },
            "sampling/createMessage" if self.may_sample => match peer_of(method, during.as_ref()) {
                Some(peer) => self.pass_on(&*peer, method, params).await,
                None => {
                    self.sampler.sample(&self.server, params.clone()).await.map_err(|why| (INTERNAL, why))
                }
            },
            "sampling/createMessage" => Err((-1, "sampling is not allowed for this server".to_owned())),
            _ => Err((
                METHOD_NOT_FOUND,
                format!("there is no `{}` here", method.chars().take(80).collect::<String>()),
            )),
        }
    }

    /// Answers several questions of one call: what the side the call came from can answer goes there at once, under the
    /// server's own keys. What nobody answers is left out.
    pub(crate) async fn answer_all(
        &self,
        questions: &Map<String, Value>,
        during: &Asked,
    ) -> Map<String, Value> {
        let _still = during.time.hold();
        let method_of =
            |question: &Value| question.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let params_of = |question: &Value| question.get("params").cloned().unwrap_or_default();
        let passes = |method: &str| match method {
            "elicitation/create" => self.may_elicit,
            "sampling/createMessage" => self.may_sample,
            _ => false,
        };
        let (mut answers, mut to_peer) = (Map::new(), tollgate::tool::Requests::new());
        for (key, question) in questions {
            let (method, params) = (method_of(question), params_of(question));
            if during.peer.is_some() && passes(&method) {
                to_peer.insert(key.clone(), PeerRequest { method, params: self.marked(&params) });
            } else if let Ok(answer) = self.answer(&method, &params, Some(during.clone())).await {
                answers.insert(key.clone(), answer);
            }
        }
        if let Some(peer) = during.peer.as_ref().filter(|_| !to_peer.is_empty())
            && let Ok(answered) = peer.ask(to_peer).await
        {
            answers.extend(answered);
        }
        answers
    }

    async fn pass_on(&self, peer: &dyn Peer, method: &str, params: &Value) -> Answered {
        const KEY: &str = "question";
        let request = PeerRequest { method: method.to_owned(), params: self.marked(params) };
        match peer.ask([(KEY.to_owned(), request)].into()).await {
            Ok(mut answers) => {
                answers.remove(KEY).ok_or_else(|| (INTERNAL, "it was not answered".to_owned()))
            }
            Err(PeerFault::Refused { code, message }) => Err((code, message)),
            Err(fault) => Err((INTERNAL, fault.to_string())),
        }
    }

    /// The question with who asks in it: a person must not take a server's words for the client's own.
    fn marked(&self, params: &Value) -> Value {
        let mut params = params.clone();
        if let Some(Value::String(message)) = params.get_mut("message") {
            *message = format!("[{}] {}", self.server, tollgate::outcome::visible(message));
        }
        params
    }

    fn roots(&self) -> Vec<Value> {
        let roots = self.roots.iter();
        roots.map(|root| json!({"uri": file_uri(&root.to_string_lossy()), "name": name_of(root)})).collect()
    }

    async fn elicit(&self, params: &Value, during: Option<Asked>) -> Answered {
        let message = params.get("message").and_then(Value::as_str);
        let message = message.ok_or_else(|| (INVALID_PARAMS, "an elicitation has a `message`".to_owned()))?;
        let question = Elicitation {
            server: self.server.clone(),
            during,
            message: tollgate::outcome::visible(message).into_owned(),
            schema: params.get("requestedSchema").cloned(),
            url: params.get("url").and_then(Value::as_str).map(str::to_owned),
            params: params.clone(),
        };
        Ok(match self.elicitor.elicit(question).await {
            ElicitationAnswer::Accept(Some(content)) => json!({"action": "accept", "content": content}),
            ElicitationAnswer::Accept(None) => json!({"action": "accept"}),
            ElicitationAnswer::Decline => json!({"action": "decline"}),
            ElicitationAnswer::Cancel => json!({"action": "cancel"}),
        })
    }
}

/// The side the call came from, where it can answer this.
fn peer_of(method: &str, during: Option<&Asked>) -> Option<Arc<dyn Peer>> {
    during.and_then(|during| during.peer.clone()).filter(|peer| peer.can(method))
}

fn name_of(root: &std::path::Path) -> String {
    root.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A path as an address, every byte that means something in one written out.
fn file_uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let bytes = path
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    format!("file://{}", bytes.collect::<String>())
}
