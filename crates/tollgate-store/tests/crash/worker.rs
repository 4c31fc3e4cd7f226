//! One process of the crash test: pays for shared and own things, and writes down what it was told.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Effects, Failure, Output, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Budget, Run, Workspace},
    policy::{Answer, Approver, Desk as _, Pending, Question, Reply, Rules},
    tool::ToolBuilder,
};
use tollgate_store::{Settings, Store, failpoint::hit};

use crate::round::At;

/// What a worker is told to do, as `name|calls|home|url`.
pub(crate) fn run(plan: &str) -> ExitCode {
    let mut parts = plan.splitn(4, '|');
    let mut part = || parts.next().unwrap_or_default().to_owned();
    let (name, calls, home, url) = (part(), part(), PathBuf::from(part()), part());
    let at = At { url: (!url.is_empty()).then_some(url), home };
    let mut settings = Settings::default();
    settings.lease = LEASE;
    let store = match Store::open_with(crate::place_of(&at), settings) {
        Ok(store) => store,
        Err(error) => {
            eprintln!("worker: {error}");
            return ExitCode::from(9);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let calls = calls.parse().expect("a number");
    runtime.expect("a runtime").block_on(work(&name, calls, &at, &store));
    store.close();
    ExitCode::SUCCESS
}

/// Short, so that a stopped process is soon past it.
pub(crate) const LEASE: Duration = Duration::from_millis(400);

/// Calls that both workers together may make under the round's budget.
pub(crate) const BUDGET: u64 = 5;

async fn work(name: &str, calls: u32, at: &At, store: &Store) {
    let worker = Arc::new(Worker {
        gate: gate(&at.downstream(), store),
        acks: at.acks(),
        store: store.clone(),
        name: name.to_owned(),
        round: at.round(),
    });
    let tasks: Vec<_> = (0..calls)
        .map(|n| {
            let worker = worker.clone();
            tokio::spawn(async move { worker.one(n).await })
        })
        .collect();
    for task in tasks {
        let _ = task.await;
    }
}

struct Worker {
    gate: Tollgate,
    acks: PathBuf,
    store: Store,
    name: String,
    round: String,
}

impl Worker {
    /// Every worker pays for the shared things; own things and looks are its own; some things need a person's yes,
    /// which either worker gives; and some count against a budget both share.
    async fn one(&self, n: u32) {
        let Self { name, round, .. } = self;
        let own = scope(Run::new(format!("{round}-{name}")));
        let shared = format!("{round}-shared-{n}");
        match n % 6 {
            0 | 1 => drop(self.told(&own, &shared, pay(&shared).with_key(&shared)).await),
            2 => {
                let thing = format!("{round}-{name}-{n}");
                let _ = self.told(&own, &thing, pay(&thing)).await;
            }
            3 => {
                let look = Proposed::new(format!("look-{n}"), "look", &json!({}));
                let _ = self.gate.call(&own, look).await;
            }
            4 => self.signed(&own, &format!("{round}-asked-{n}")).await,
            _ => {
                let mut budget = Budget::default();
                budget.calls = Some(BUDGET);
                let book = Arc::new(self.store.clone());
                let run = Run::builder(format!("{round}-budget")).budget(budget).kept_in(book).build();
                let thing = format!("{round}-spend-{name}-{n}");
                let _ = self.told(&scope(run), &thing, pay(&thing)).await;
            }
        }
    }

    /// Calls, and writes down what it was told.
    async fn told(&self, scope: &Arc<Scope>, thing: &str, call: Proposed) -> Settled {
        let settled = self.gate.call(scope, call).await;
        // A call whose end could not be written says so.
        let unwritten = settled.context.iter().any(|words| words.contains("could not be recorded"));
        let nonce = settled.output().and_then(|output| output.structured().cloned());
        let nonce = nonce.and_then(|value| value["nonce"].as_str().map(str::to_owned));
        let word = if unwritten { "unwritten" } else { "written" };
        line(&self.acks, &format!("{thing} {} {} {word}", settled.status(), nonce.unwrap_or("-".into())));
        self.store.delivered(scope.run.id(), 0, &[thing]);
        settled
    }

    /// Asks, answers what waits, and tries again.
    async fn signed(&self, scope: &Arc<Scope>, thing: &str) {
        for _ in 0..3 {
            let call = Proposed::new(thing, "sign", &json!({"thing": thing}));
            if self.told(scope, thing, call).await.refusal().is_none() {
                return;
            }
            for pending in self.store.list().await.unwrap_or_default() {
                if self.store.answer(&pending.id, &Reply::Yes).await.is_ok() {
                    line(&self.acks, &format!("{} answered - written", pending.call));
                }
            }
        }
    }
}

fn pay(thing: &str) -> Proposed {
    Proposed::new(thing, "pay", &json!({"thing": thing}))
}

fn scope(run: Run) -> Arc<Scope> {
    Arc::new(Scope::new(run, Workspace::new("/tmp")))
}

/// Uses an answer where one is, and leaves the question where none is.
struct Parking(Store);

impl Approver for Parking {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            if let Ok(Some(reply)) = self.0.take(&question.digest).await {
                return reply.about(&question.query());
            }
            let pending = Pending::of(&question, &question.digest.as_str()[..16], Duration::from_secs(3_600));
            let _ = self.0.park(&pending).await;
            Answer::Nobody
        })
    }
}

/// The tool whose every effect is one line in the downstream file: written in one piece, and there for good.
fn gate(downstream: &Path, store: &Store) -> Tollgate {
    let schema = json!({"type": "object", "properties": {"thing": {"type": "string"}}});
    let paying = |name: &str| {
        let file = downstream.to_owned();
        ToolBuilder::new(name, "Pays.", schema.clone())
            .expect("a name")
            .effects(|_, _| Effects {
                concurrency: tollgate::tool::Concurrency::WriteExclusive,
                ..Effects::writing()
            })
            .run(move |_, args| {
                let file = file.clone();
                let thing = args["thing"].as_str().unwrap_or_default().to_owned();
                Box::pin(async move {
                    hit("body_begins");
                    let nonce = nonce();
                    line(&file, &format!("{thing} {nonce}"));
                    hit("body_done");
                    Ok(Output::json(json!({"nonce": nonce})))
                })
            })
    };
    let look = ToolBuilder::new("look", "Looks.", json!({"type": "object"}))
        .expect("a name")
        .effects(|_, _| Effects::reading())
        .run(|_, _| Box::pin(async { Ok::<_, Failure>(Output::json(Value::from(1))) }));
    let registry = Registry::new()
        .with(paying("pay"))
        .and_then(|registry| registry.with(paying("sign")))
        .and_then(|registry| registry.with(look))
        .expect("registers");
    let rules = Rules::new().allow("*").and_then(|rules| rules.ask("sign")).expect("rules");
    Tollgate::builder(registry).policy(rules).approver(Parking(store.clone())).ledger(store.clone()).build()
}

fn nonce() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}.{}.{now}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst))
}

fn line(file: &Path, text: &str) {
    let mut out = OpenOptions::new().append(true).create(true).open(file).expect("opens");
    out.write_all(format!("{text}\n").as_bytes()).expect("writes");
}
