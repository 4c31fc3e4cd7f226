//! One store in a fresh place, and gates on it with a tool that counts what it does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate::{
    BoxFuture, Builder, Effects, Failure, Output, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    policy::{Answer, Approver, Nobody, Question, Rules},
    tool::{Caller, ToolBuilder},
};
use tollgate_store::{Place, Settings, Store};

use crate::server;

pub(crate) struct World {
    place: Place,
    url: Option<String>,
    lease: Duration,
    pub(crate) effects: Arc<AtomicU32>,
    pub(crate) folder: TempDir,
}

impl World {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::at(Place::folder(folder.path().join("home")), folder)
    }

    pub(crate) fn postgres() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let url = server::fresh_url()?;
        let place = Place::postgres(&url, folder.path().join("home")).expect("a place");
        Some(Self { url: Some(url), ..Self::at(place, folder) })
    }

    fn at(place: Place, folder: TempDir) -> Self {
        Self { place, url: None, lease: Duration::from_secs(10), effects: Arc::default(), folder }
    }

    /// Runs statements, as SQLite says them, on the database itself.
    pub(crate) fn sql(&self, statements: &str) {
        if let Some(url) = self.url.clone() {
            let statements = statements.replace(" X'", " '\\x").replace("BLOB", "BYTEA");
            let statements = statements.replace("INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY");
            // The client blocks, and cannot do so on a thread of the runtime.
            thread::spawn(move || {
                let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("connects");
                client.batch_execute(&statements).expect("runs");
            })
            .join()
            .expect("ends");
        } else {
            let file = self.place.database().expect("a file");
            std::fs::create_dir_all(self.place.path()).expect("a folder");
            rusqlite::Connection::open(file).expect("opens").execute_batch(statements).expect("runs");
        }
    }

    /// Takes the right to write, as another program's transaction does.
    pub(crate) fn nobody_writes(&self) -> Held {
        let (release, released) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let (url, file) = (self.url.clone(), self.place.database());
        let holder = thread::spawn(move || {
            // Both end their transaction where they are dropped.
            if let Some(url) = url {
                let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("connects");
                client.batch_execute("BEGIN; SELECT seq FROM head FOR UPDATE").expect("begins");
                tell.send(()).expect("tells");
                assert!(released.recv().is_err(), "nobody sends: it is dropped");
            } else {
                let connection = rusqlite::Connection::open(file.expect("a file")).expect("opens");
                connection.busy_timeout(Duration::from_secs(20)).expect("waits");
                connection.execute_batch("BEGIN IMMEDIATE").expect("begins");
                tell.send(()).expect("tells");
                assert!(released.recv().is_err(), "nobody sends: it is dropped");
            }
        });
        told.recv().expect("the right to write is held");
        Held { release: Some(release), holder: Some(holder) }
    }

    pub(crate) fn with_lease(place: Place, lease: Duration) -> Store {
        let mut settings = Settings::default();
        settings.lease = lease;
        Store::open_with(place, settings).expect("opens")
    }

    pub(crate) fn place(&self) -> Place {
        self.place.clone()
    }

    pub(crate) fn open(&self) -> Store {
        Self::with_lease(self.place(), self.lease)
    }

    /// A gate on the store with `pay` (counts, says the count), `slow` (the same after a second), `hang` (after a minute), `fail`, and `look`.
    pub(crate) fn gate(&self, store: &Store) -> Tollgate {
        self.gate_with(store, Rules::new().allow("*").expect("a rule"), Arc::new(Nobody))
    }

    pub(crate) fn gate_with(&self, store: &Store, rules: Rules, approver: Arc<dyn Approver>) -> Tollgate {
        self.builder(store, rules, approver).build()
    }

    pub(crate) fn builder(&self, store: &Store, rules: Rules, approver: Arc<dyn Approver>) -> Builder {
        let schema =
            || json!({"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}});
        let tool = |name: &str| ToolBuilder::new(name, "A tool.", schema()).expect("a name");
        let counting = |name: &str, wait: u64| {
            let effects = self.effects.clone();
            tool(name).effects(|_, _| Effects::writing()).run(move |_, args| {
                let (effects, args) = (effects.clone(), args.clone());
                Box::pin(async move {
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                    let count = effects.fetch_add(1, Ordering::SeqCst) + 1;
                    Ok(Output::json(json!({"count": count, "args": args})))
                })
            })
        };
        let fail = tool("fail")
            .effects(|_, _| Effects::writing())
            .run(|_, _| Box::pin(async { Err(Failure::retryable("the other side is busy")) }));
        let look = tool("look")
            .effects(|_, _| Effects::reading())
            .run(|_, _| Box::pin(async { Ok(Output::text("seen")) }));
        let registry = Registry::new()
            .with(counting("pay", 0))
            .and_then(|r| r.with(counting("slow", 1_000)))
            .and_then(|r| r.with(counting("hang", 60_000)))
            .and_then(|r| r.with(fail))
            .and_then(|r| r.with(look))
            .expect("registers");
        Tollgate::builder(registry).policy(rules).approver(Asked(approver)).ledger(store.clone())
    }
}

/// Any approver, behind the one type a builder takes.
struct Asked(Arc<dyn Approver>);

impl Approver for Asked {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.0.ask(question)
    }
}

pub(crate) fn scope(run: &str) -> Arc<Scope> {
    scope_of(run, "main")
}

pub(crate) fn scope_of(run: &str, caller: &str) -> Arc<Scope> {
    let mut scope = Scope::new(Run::new(run), Workspace::new("/tmp"));
    scope.caller = Caller::new(caller);
    Arc::new(scope)
}

pub(crate) async fn call(gate: &Tollgate, run: &str, id: &str, tool: &str, input: Value) -> Settled {
    gate.call(&scope(run), Proposed::new(id, tool, &input)).await
}

pub(crate) async fn keyed(gate: &Tollgate, run: &str, tool: &str, input: Value, key: &str) -> Settled {
    gate.call(&scope(run), Proposed::new("c", tool, &input).with_key(key)).await
}

/// Looks at a call once, waits until `there` and a little longer, and gives the call up unheard. Nothing can be written
/// while it is looked at: on a busy machine the answer would be there within that look, and the call beyond it.
pub(crate) async fn dropped_when(
    world: &World,
    call: impl Future<Output = Settled>,
    there: impl Fn() -> bool,
) {
    let mut call = Box::pin(call);
    let held = world.nobody_writes();
    let looked = std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx).is_pending()));
    assert!(looked.await, "the call ended at once");
    drop(held);
    for _ in 0..500 {
        if there() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(there(), "what the call was to wait for did not come");
    // It is written; now its answer lies there, and nobody looks.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// The right to write, held by somebody else until this is dropped.
pub(crate) struct Held {
    release: Option<mpsc::Sender<()>>,
    holder: Option<JoinHandle<()>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.release.take());
        assert!(self.holder.take().is_some_and(|holder| holder.join().is_ok()), "the holder let go");
    }
}

/// The kinds of records of a run, in order, with the status where there is an answer.
pub(crate) fn told(store: &Store, run: &str) -> Vec<String> {
    let mut told = Vec::new();
    for entry in store.journal(run, 0).expect("the journal") {
        for line in entry.lines() {
            let status = line.a.map(|answer| {
                let answer: Value = serde_json::from_str(answer.get()).expect("an answer");
                format!(" {}", answer["status"].as_str().expect("a status"))
            });
            told.push(format!("{}{}", line.r, status.unwrap_or_default()));
        }
    }
    told
}
