//! The ledger: durable calls against a bare SQLite transaction, group commit, reads, and a million records.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tollgate::{
    Effects, Output, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    policy::Rules,
    tool::ToolBuilder,
};
use tollgate_store::{Place, RunTrace, Store};

use crate::table::{Measure, Row, wanted};

/// How long the path with the ledger is kept busy.
const SUSTAINED: Duration = Duration::from_secs(60);

const WRITERS: u32 = 64;
const MILLION: u32 = 1_000_000;
const RUNS: u32 = 1_000;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    if wanted("store: durable") {
        rows.extend(durable());
    }
    if wanted("store: reads") {
        rows.extend(reads());
    }
    if wanted("store: million") {
        rows.extend(million());
    }
    rows
}

fn runtime(threads: usize) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(threads).enable_time().build().expect("a runtime")
}

fn gate(store: Option<&Store>) -> Tollgate {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    let tool = |name: &str, effects: Effects| {
        ToolBuilder::new(name, "Adds.", schema.clone())
            .expect("a name")
            .spec(|spec| spec.inline = true)
            .effects(move |_, _| effects.clone())
            .run(|_, args| {
                let sum = args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0);
                Box::pin(async move { Ok(Output::json(sum)) })
            })
    };
    // Writes of one workspace run one after the other; here everyone has a workspace.
    let registry = Registry::new()
        .with(tool("write", Effects::writing()))
        .and_then(|registry| registry.with(tool("read", Effects::reading())))
        .expect("registers");
    let rules = Rules::new().allow("*").expect("a rule");
    let builder = Tollgate::builder(registry).policy(rules).spawner(None);
    match store {
        Some(store) => builder.ledger(store.clone()).build(),
        None => builder.build(),
    }
}

fn scope(run: &str) -> Arc<Scope> {
    Arc::new(Scope::new(Run::new(run), Workspace::new("/tmp")))
}

/// Where there is a real disk under it.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(std::env::current_dir().expect("a folder")).expect("a folder")
}

/// One bare transaction: a row of the size of a record, synced.
fn bare(folder: &Path, count: u32) -> Duration {
    let database = rusqlite::Connection::open(folder.join("bare.db")).expect("opens");
    database.pragma_update(None, "journal_mode", "wal").expect("wal");
    database.pragma_update(None, "synchronous", "full").expect("full");
    database.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)").expect("a table");
    let body = vec![b'x'; 300];
    let began = Instant::now();
    for _ in 0..count {
        database.execute("INSERT INTO t (body) VALUES (?1)", [&body]).expect("inserts");
    }
    began.elapsed() / count
}

/// `writers` tasks, each `calls` durable calls one after the other; the time per call.
fn writes(store: &Store, writers: u32, calls: u32) -> Duration {
    let gate = gate(Some(store));
    let began = Instant::now();
    runtime(2).block_on(async {
        let tasks: Vec<_> = (0..writers)
            .map(|writer| {
                let (gate, scope) = (gate.clone(), scope(&format!("w{writer}-{writers}")));
                tokio::spawn(async move {
                    for call in 0..calls {
                        let proposed = Proposed::new(format!("c{call}"), "write", r#"{"a":12,"b":30}"#);
                        assert!(gate.call(&scope, proposed).await.output().is_some());
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("ends");
        }
    });
    began.elapsed() / (writers * calls)
}

fn durable() -> Vec<Row> {
    let folder = folder();
    let floor = bare(folder.path(), 200);
    let store = Store::open(Place::folder(folder.path().join("home"))).expect("opens");
    let single = writes(&store, 1, 200);
    let before = store.size().expect("a size");
    let many = writes(&store, WRITERS, 200);
    let grown = (store.size().expect("a size") - before) / i64::from(WRITERS * 200);
    store.close();
    println!("store: a durable call takes {grown} bytes of the database");
    vec![
        Row::ratio("store: durable call, one writer", "bare SQLite transaction", floor, single, None),
        Row::ratio("store: durable call, 64 writers", "bare SQLite transaction", floor, many, None),
        Row::ratio("store: durable, 64 writers against one", "one writer", single, many, Some(1.0 / 20.0)),
        bytes("store: durable call, bytes", grown),
    ]
}

fn bytes(name: &str, each: i64) -> Row {
    let each = u32::try_from(each).unwrap_or(u32::MAX);
    Row::ratio(name, "1 KiB (both in bytes)", Measure::Kibibytes(1_024), Measure::Kibibytes(each), Some(1.0))
}

/// The path of a read with and without the ledger, for a minute.
fn reads() -> Vec<Row> {
    let folder = folder();
    let store = Store::open(Place::folder(folder.path().join("home"))).expect("opens");
    let run = |gate: &Tollgate, most: Duration| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let began = Instant::now();
        let mut calls = 0;
        runtime.block_on(async {
            let mut number = 0;
            while began.elapsed() < most {
                number += 1;
                let scope = scope(&format!("r{number}"));
                for _ in 0..1_000 {
                    let settled =
                        gate.call(&scope, Proposed::new("call_1", "read", r#"{"a":12,"b":30}"#)).await;
                    assert!(settled.output().is_some());
                }
                calls += 1_000;
            }
        });
        began.elapsed() / calls
    };
    let floor = run(&gate(None), Duration::from_secs(3));
    let with = gate(Some(&store));
    let path = run(&with, SUSTAINED);
    let trouble = store.trouble();
    store.close();
    assert!(trouble.is_none(), "{trouble:?}");
    vec![Row::ratio("store: reads, recorded for 60 s", "the same path without it", floor, path, Some(3.0))]
}

/// A million small calls in a thousand runs; one run shown.
fn million() -> Vec<Row> {
    let folder = folder();
    let store = Store::open(Place::folder(folder.path().join("home"))).expect("opens");
    let gate = gate(Some(&store));
    runtime(2).block_on(async {
        for run in 0..RUNS {
            let scope = scope(&format!("run-{run}"));
            for call in 0..MILLION / RUNS {
                let proposed = Proposed::new(format!("call_{call}"), "read", r#"{"a":12,"b":30}"#);
                assert!(gate.call(&scope, proposed).await.output().is_some());
            }
        }
        store.flush().await.expect("flushes");
    });
    let each = store.size().expect("a size") / i64::from(MILLION);
    let _ = store.runs(1).expect("warm");
    let began = Instant::now();
    let entries = store.journal("run-500", 0).expect("reads");
    let tree = RunTrace::of("run-500", &entries);
    let shown = began.elapsed();
    assert_eq!(tree.calls.len(), usize::try_from(MILLION / RUNS).expect("few"));
    let before = store.size().expect("a size");
    let began = Instant::now();
    let report = store.verify().expect("reads");
    let verified = began.elapsed();
    assert!(report.is_whole());
    let began = Instant::now();
    let pruned = store.prune(Duration::ZERO).expect("prunes");
    let (took, after) = (began.elapsed(), store.size().expect("a size"));
    assert_eq!(pruned.runs, usize::try_from(RUNS).expect("few"));
    println!(
        "store: a million calls in {} MB: verified in {verified:.1?}, pruned in {took:.1?}, {} MB left",
        before >> 20,
        after >> 20
    );
    store.close();
    vec![
        Row::ratio(
            "store: million records, one run of 1,000 shown",
            "50 ms",
            Duration::from_millis(50),
            shown,
            Some(1.0),
        ),
        bytes("store: million records, bytes of a small call", each),
    ]
}
