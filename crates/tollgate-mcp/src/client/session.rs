//! One connection to one server: who waits for which answer, and what becomes of everything else the server says.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, value::RawValue};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tollgate::BoxFuture;

use super::{
    Asked, Era, Fault, Host, Progressed,
    message::{self, Envelope, INTERNAL, RpcError, id_in},
};
use crate::inbox::Inbox;

/// The way a session's messages leave. What comes back is handed to [`Session::receive`].
pub(super) trait Link: Send + Sync {
    /// Sends one message. An error where it certainly did not arrive.
    fn send<'a>(&'a self, session: &'a Arc<Session>, message: Outgoing) -> BoxFuture<'a, Result<(), Fault>>;

    /// Tells the server, without waiting, that nobody waits for this answer any more.
    fn abandon(&self, session: &Session, id: u64);

    /// Begins to end the connection, without waiting.
    fn stop(&self);

    /// Ends the connection. What it started has ended then.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A message on its way out.
pub(super) struct Outgoing {
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// What a message is, for links that must know.
pub(super) enum Kind {
    Request { id: u64, method: &'static str, headers: Vec<(String, String)> },
    Notification,
    Answer,
}

/// A connection. It is over when `gone` says so, for the reason it then has.
pub(crate) struct Session {
    pub(super) link: Box<dyn Link>,
    pub(super) host: Arc<Host>,
    waiting: Mutex<AllWaiting>,
    next: AtomicU64,
    era: OnceLock<Era>,
    gone: CancellationToken,
    reason: OnceLock<String>,
    /// The server says that its list of tools is another one.
    pub(crate) list_changed: Notify,
    stray: AtomicU64,
    // So many questions of the server are answered at once; more are turned away.
    questions: Arc<Semaphore>,
}

/// Holds a connection open: dropped, the connection ends, and with it what was started for it.
pub(crate) struct Connection(pub(crate) Arc<Session>);

impl std::ops::Deref for Connection {
    type Target = Arc<Session>;

    fn deref(&self) -> &Arc<Session> {
        &self.0
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.end("it was closed");
        self.0.link.stop();
    }
}

/// Somebody who waits for an answer.
struct Waiting {
    answer: oneshot::Sender<Result<Box<RawValue>, Fault>>,
    progress: Option<Arc<Inbox<Progressed>>>,
    asked: Option<Asked>,
    over: Over,
}

/// Everybody who waits, by the number of their request: our own, so that no server chooses them.
type AllWaiting = HashMap<u64, Waiting, foldhash::fast::RandomState>;

/// Tells whoever asks somebody on behalf of a call that the call is over. There is a token only where somebody does.
#[derive(Default)]
struct Over(Option<CancellationToken>);

impl Drop for Over {
    fn drop(&mut self) {
        if let Some(token) = &self.0 {
            token.cancel();
        }
    }
}

/// How many questions of a server are answered at the same time.
const QUESTIONS: usize = 8;

impl Session {
    pub(super) fn new(link: Box<dyn Link>, host: Arc<Host>) -> Arc<Self> {
        Arc::new(Self {
            link,
            host,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            era: OnceLock::new(),
            gone: CancellationToken::new(),
            reason: OnceLock::new(),
            list_changed: Notify::new(),
            stray: AtomicU64::new(0),
            questions: Arc::new(Semaphore::new(QUESTIONS)),
        })
    }

    /// Who answers the server's questions.
    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// True while it can be used.
    pub(crate) fn is_alive(&self) -> bool {
        !self.gone.is_cancelled()
    }

    /// Resolves when the connection is over.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + '_ {
        self.gone.cancelled()
    }

    /// Why it is over.
    pub(crate) fn reason(&self) -> String {
        self.reason.get().cloned().unwrap_or_else(|| "it was closed".to_owned())
    }

    /// What was agreed on; legacy until something is.
    pub(crate) fn era(&self) -> &Era {
        self.era.get_or_init(Era::default)
    }

    pub(super) fn agree(&self, era: Era) {
        let _ = self.era.set(era);
    }

    pub(super) fn agreed(&self) -> Option<&Era> {
        self.era.get()
    }

    /// How many lines came that are no messages, or answers nobody waits for.
    pub(crate) fn stray(&self) -> u64 {
        self.stray.load(Ordering::Relaxed)
    }

    pub(super) fn count_stray(&self) {
        self.stray.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the connection: everybody who waits is told why.
    pub(super) fn end(&self, reason: impl Into<String>) {
        self.end_as(reason.into(), Fault::Lost);
    }

    /// The same where nothing that was sent has reached anybody.
    pub(super) fn end_unreached(&self, reason: String) {
        self.end_as(reason, Fault::NotSent);
    }

    fn end_as(&self, reason: String, fault: fn(String) -> Fault) {
        let _ = self.reason.set(reason);
        self.gone.cancel();
        let waiting = std::mem::take(&mut *self.waiting());
        for (_, one) in waiting {
            let _ = one.answer.send(Err(fault(self.reason())));
        }
    }

    /// Ends the connection and what was started for it.
    pub(crate) async fn close(&self, reason: &str) {
        self.end(reason);
        self.link.close().await;
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn wait_for(
        &self,
        id: u64,
        progress: Option<Arc<Inbox<Progressed>>>,
        asked: Option<Asked>,
    ) -> oneshot::Receiver<Result<Box<RawValue>, Fault>> {
        let (answer, receiver) = oneshot::channel();
        self.waiting().insert(id, Waiting { answer, progress, asked, over: Over::default() });
        receiver
    }

    /// Nobody waits for it any more; true where somebody did.
    pub(super) fn forget(&self, id: u64) -> bool {
        self.waiting().remove(&id).is_some()
    }

    pub(super) fn waits_for(&self, id: u64) -> bool {
        self.waiting().contains_key(&id)
    }

    /// True while several calls are under way.
    pub(super) fn is_busy(&self) -> bool {
        self.waiting().values().filter(|one| one.asked.is_some()).nth(1).is_some()
    }

    /// Answers one request with a fault.
    pub(super) fn fail(&self, id: u64, fault: Fault) {
        let waiting = self.waiting().remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.answer.send(Err(fault));
        }
    }

    /// Sends a notification.
    pub(super) async fn notify(self: &Arc<Self>, method: &str, params: Option<&Value>) -> Result<(), Fault> {
        let text = message::notification(method, params);
        self.link.send(self, Outgoing { text, kind: Kind::Notification }).await
    }

    /// Takes in what the server said: one message, or a list of them. What is neither is counted and skipped.
    pub(super) fn receive(self: &Arc<Self>, bytes: &[u8]) {
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        if bytes[0] == b'[' {
            let Ok(batch) = serde_json::from_slice::<Vec<&RawValue>>(bytes) else {
                return self.count_stray();
            };
            return batch.iter().for_each(|one| self.receive_one(one.get().as_bytes()));
        }
        self.receive_one(bytes);
    }

    fn receive_one(self: &Arc<Self>, bytes: &[u8]) {
        let envelope = std::str::from_utf8(bytes).ok().and_then(|text| serde_json::from_str(text).ok());
        let Some(envelope): Option<Envelope<'_>> = envelope else { return self.broken(bytes) };
        let noise = envelope.is_noise();
        match (envelope.method, envelope.id) {
            (Some(method), Some(id)) => self.question(&method, id, envelope.params),
            (Some(method), None) => self.notice(&method, envelope.params),
            // A line of a log may have an id too: an answer says that it is a message, or what it answers.
            (None, Some(_)) if noise => self.count_stray(),
            (None, Some(id)) => self.answered(id, envelope.result, envelope.error),
            (None, None) => self.count_stray(),
        }
    }

    /// What was meant as a message and is none: whoever waits for the answer in it need not wait any longer.
    fn broken(&self, bytes: &[u8]) {
        let meant = bytes.starts_with(b"{") && memchr::memmem::find(bytes, b"\"jsonrpc\"").is_some();
        match id_in(&message::ends(bytes)).filter(|id| meant && self.waits_for(*id)) {
            Some(id) => self.fail(id, Fault::Malformed("it is no proper JSON".to_owned())),
            None => self.count_stray(),
        }
    }

    fn answered(&self, id: &RawValue, result: Option<&RawValue>, error: Option<&RawValue>) {
        let id = id.get().parse::<u64>().ok();
        // An id nobody waits for, or waits for no longer: a wrong one, or a second answer.
        let Some(waiting) = id.and_then(|id| self.waiting().remove(&id)) else { return self.count_stray() };
        let error = error.filter(|error| error.get() != "null");
        let answer = match (error, result) {
            (Some(error), _) => Err(rpc_fault(error)),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(Fault::Malformed("it has neither a result nor an error".to_owned())),
        };
        let _ = waiting.answer.send(answer);
    }

    fn notice(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => self.list_changed.notify_one(),
            "notifications/progress" => {
                if let Some(params) =
                    params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok())
                {
                    self.progressed(&params);
                }
            }
            // Whoever made the call reads its log, where there is no doubt whose it is.
            "notifications/message" => {
                let peer = self.only_call().and_then(|(asked, _)| asked.peer);
                let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
                if let (Some(peer), Some(params)) = (peer, params) {
                    peer.notify(method, params);
                }
            }
            // The rest is of no use to a call.
            _ => {}
        }
    }

    fn progressed(&self, params: &Value) {
        let Some(token) = params.get("progressToken").and_then(Value::as_u64) else { return };
        let waiting = self.waiting();
        let Some(progress) = waiting.get(&token).and_then(|one| one.progress.as_ref()) else { return };
        progress.replace(Progressed {
            done: params.get("progress").and_then(Value::as_f64).unwrap_or_default(),
            total: params.get("total").and_then(Value::as_f64),
            message: params
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .chars()
                .take(500)
                .collect(),
        });
    }

    /// A question of the server's: answered beside everything else, so that none holds up the reading.
    fn question(self: &Arc<Self>, method: &str, id: &RawValue, params: Option<&RawValue>) {
        let (session, method, id) = (self.clone(), method.to_owned(), id.to_owned());
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or(Value::Null);
        let Ok(turn) = self.questions.clone().try_acquire_owned() else { return self.count_stray() };
        tokio::spawn(async move {
            // Nobody is asked on behalf of a call that is over; where it is not known whose question it is, the
            // connection's end is the end of it.
            let (asked, over) = session.only_call().unzip();
            let over = over.unwrap_or_else(|| session.gone.clone());
            let answered = tokio::select! {
                answered = session.host.answer(&method, &params, asked) => answered,
                () = over.cancelled() => Err((INTERNAL, "the call is over".to_owned())),
                () = session.gone.cancelled() => return,
            };
            let text = message::answer(&id, &answered);
            let _ = session.link.send(&session, Outgoing { text, kind: Kind::Answer }).await;
            drop(turn);
        });
    }

    /// The call that a question belongs to, where there is no doubt about it, and when it is over.
    fn only_call(&self) -> Option<(Asked, CancellationToken)> {
        let mut waiting = self.waiting();
        let mut calls = waiting.values_mut().filter(|one| one.asked.is_some());
        let first = calls.next()?;
        if calls.next().is_some() {
            return None;
        }
        let over = first.over.0.get_or_insert_default().clone();
        first.asked.clone().map(|asked| (asked, over))
    }

    fn waiting(&self) -> MutexGuard<'_, AllWaiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn rpc_fault(error: &RawValue) -> Fault {
    match serde_json::from_str::<RpcError>(error.get()) {
        Ok(RpcError { code, message, data }) => Fault::Rpc { code, message, data },
        Err(_) => Fault::Rpc { code: INTERNAL, message: error.get().chars().take(500).collect(), data: None },
    }
}
