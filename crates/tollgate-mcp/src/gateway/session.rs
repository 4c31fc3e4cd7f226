//! One conversation with a client: who it is, in which run, what is under way, and what we asked it.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tollgate::{
    guard::Run,
    tool::{Answers, Caller, PeerFault, Requests, Route},
};

use super::{
    message::{self, RpcError, code},
    revision::{Client, Level},
};

/// Who is at the other end, as the door they came by knows them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The name rules and records know them by.
    pub caller: Caller,
    /// The part of the pool they see; all of it where there is none.
    pub route: Option<Route>,
}

/// Where messages for the client go.
pub(crate) trait Outlet: fmt::Debug + Send + Sync + 'static {
    /// Sends one message. What cannot be delivered any more is dropped.
    fn send(&self, message: Vec<u8>);
}

/// A conversation. Ends all that is under way when it is stopped.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) identity: Identity,
    pub(crate) run: Run,
    /// True when ids are one client's own, so that a request can be named by its id.
    one_client: bool,
    client: Mutex<Option<Arc<Client>>>,
    under_way: Mutex<HashMap<Key, CancellationToken, foldhash::fast::RandomState>>,
    asked: Mutex<HashMap<Box<str>, Answered>>,
    numbers: AtomicU64,
}

/// What a request under way goes by: the id its client gave it, or a number of ours where ids are not one client's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Id(Box<str>),
    Number(u64),
}

/// Where the client's answer to a question of ours goes.
type Answered = oneshot::Sender<Result<Value, PeerFault>>;

/// More requests at once than any client has use for.
const MOST_UNDER_WAY: usize = 4096;

/// How long a person may take to answer what is asked by way of their client.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

impl Session {
    /// A conversation with one client.
    pub(crate) fn new(identity: Identity, run: Run) -> Arc<Self> {
        Self::with(identity, run, true)
    }

    /// What all stateless requests of one caller share, whichever of its programs they come from.
    pub(crate) fn shared(identity: Identity, run: Run) -> Arc<Self> {
        Self::with(identity, run, false)
    }

    fn with(identity: Identity, run: Run, one_client: bool) -> Arc<Self> {
        Arc::new(Self {
            identity,
            run,
            one_client,
            client: Mutex::default(),
            under_way: Mutex::default(),
            asked: Mutex::default(),
            numbers: AtomicU64::new(0),
        })
    }

    /// What the client said of itself, once it did.
    pub(crate) fn client(&self) -> Option<Arc<Client>> {
        lock(&self.client).clone()
    }

    pub(crate) fn introduce(&self, client: Client) {
        *lock(&self.client) = Some(Arc::new(client));
    }

    /// The client wants to read logs from this level on.
    pub(crate) fn log_from(&self, level: Level) {
        if let Some(client) = &mut *lock(&self.client) {
            Arc::make_mut(client).log = Some(level);
        }
    }

    /// A number no other call of the run has: clients count from 1 each time they start.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that a request is under way. An error where one with that id already is, or too many are.
    pub(crate) fn begin(self: &Arc<Self>, id: &str, token: &CancellationToken) -> Result<UnderWay, RpcError> {
        let key = if self.one_client { Key::Id(id.into()) } else { Key::Number(self.number()) };
        let mut under_way = lock(&self.under_way);
        if under_way.contains_key(&key) {
            return Err(RpcError::invalid_request("a request with this id is under way already"));
        }
        if under_way.len() >= MOST_UNDER_WAY {
            return Err(RpcError::new(
                code::BUSY,
                "too many requests are under way; wait for some of their answers",
            ));
        }
        under_way.insert(key.clone(), token.clone());
        Ok(UnderWay { session: self.clone(), key })
    }

    /// How many requests are under way.
    pub(crate) fn load(&self) -> usize {
        lock(&self.under_way).len()
    }

    /// The client does not want the answer to this request any more.
    pub(crate) fn cancel(&self, id: &str) {
        if let Some(token) = lock(&self.under_way).get(&Key::Id(id.into())) {
            token.cancel();
        }
    }

    /// Ends all that is under way.
    pub(crate) fn stop(&self) {
        lock(&self.under_way).values().for_each(CancellationToken::cancel);
        lock(&self.asked).clear();
    }

    /// Asks the client, each request on its own, and waits for all answers.
    pub(crate) async fn ask(&self, outlet: &dyn Outlet, requests: Requests) -> Result<Answers, PeerFault> {
        let mut waiting = Vec::with_capacity(requests.len());
        for (key, request) in requests {
            let id: Box<str> = format!("tollgate-{}", self.number()).into();
            let (answer, answered) = oneshot::channel();
            lock(&self.asked).insert(id.clone(), answer);
            outlet.send(message::request(&id, &request.method, &request.params));
            waiting.push((key, answered, Forget { session: self, id }));
        }
        let mut answers = Answers::new();
        for (key, answered, _forget) in waiting {
            let answer = tokio::time::timeout(PATIENCE, answered).await;
            let answer = answer.map_err(|_| PeerFault::Gone)?.map_err(|_| PeerFault::Gone)??;
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    /// The client answered a request of ours. An answer nobody waits for is dropped.
    pub(crate) fn answered(&self, id: &RawValue, answer: Result<&RawValue, &RawValue>) {
        let Ok(id) = serde_json::from_str::<Box<str>>(id.get()) else { return };
        let Some(waiting) = lock(&self.asked).remove(&id) else { return };
        let _ = waiting.send(match answer {
            Ok(result) => serde_json::from_str(result.get()).map_err(|_| PeerFault::Gone),
            Err(error) => Err(refused(error)),
        });
    }
}

fn refused(error: &RawValue) -> PeerFault {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Said {
        code: i64,
        message: String,
    }
    let Said { code, message } = serde_json::from_str(error.get()).unwrap_or_default();
    PeerFault::Refused { code, message }
}

/// A request that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    session: Arc<Session>,
    key: Key,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        lock(&self.session.under_way).remove(&self.key);
    }
}

/// Takes a question back when nobody waits for its answer any more.
struct Forget<'a> {
    session: &'a Session,
    id: Box<str>,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.session.asked).remove(&self.id);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
