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
    Effects, Failure, Output, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    policy::Rules,
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

async fn work(name: &str, calls: u32, at: &At, store: &Store) {
    let gate = gate(&at.downstream(), store);
    let round = at.round();
    let tasks: Vec<_> = (0..calls)
        .map(|n| {
            let (gate, acks, store) = (gate.clone(), at.acks(), store.clone());
            let (name, round) = (name.to_owned(), round.clone());
            tokio::spawn(async move {
                // Every worker pays for the shared things; own things and looks are its own.
                let run = format!("{round}-{name}");
                let scope = Arc::new(Scope::new(Run::new(&run), Workspace::new("/tmp")));
                let (id, thing, call) = match n % 4 {
                    0 | 1 => {
                        let thing = format!("{round}-shared-{n}");
                        let call = Proposed::new(&thing, "pay", &json!({"thing": thing})).with_key(&thing);
                        (thing.clone(), thing, call)
                    }
                    2 => {
                        let thing = format!("{round}-{name}-{n}");
                        (thing.clone(), thing.clone(), Proposed::new(&thing, "pay", &json!({"thing": thing})))
                    }
                    _ => {
                        let _ =
                            gate.call(&scope, Proposed::new(format!("look-{n}"), "look", &json!({}))).await;
                        return;
                    }
                };
                let settled = gate.call(&scope, call).await;
                // A call whose end could not be written says so.
                let unwritten = settled.context.iter().any(|words| words.contains("could not be recorded"));
                let nonce = settled.output().and_then(|output| output.structured().cloned());
                let nonce = nonce.and_then(|value| value["nonce"].as_str().map(str::to_owned));
                let word = if unwritten { "unwritten" } else { "written" };
                line(&acks, &format!("{thing} {} {} {word}", settled.status(), nonce.unwrap_or("-".into())));
                store.delivered(scope.run.id(), 0, &[&id]);
            })
        })
        .collect();
    for task in tasks {
        let _ = task.await;
    }
}

/// The tool whose every effect is one line in the downstream file: written in one piece, and there for good.
fn gate(downstream: &Path, store: &Store) -> Tollgate {
    let schema = json!({"type": "object", "properties": {"thing": {"type": "string"}}});
    let file = downstream.to_owned();
    let pay = ToolBuilder::new("pay", "Pays.", schema)
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
        });
    let look = ToolBuilder::new("look", "Looks.", json!({"type": "object"}))
        .expect("a name")
        .effects(|_, _| Effects::reading())
        .run(|_, _| Box::pin(async { Ok::<_, Failure>(Output::json(Value::from(1))) }));
    let registry = Registry::new().with(pay).and_then(|registry| registry.with(look)).expect("registers");
    let rules = Rules::new().allow("*").expect("a rule");
    Tollgate::builder(registry).policy(rules).ledger(store.clone()).build()
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
