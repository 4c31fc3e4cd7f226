//! What is recorded, and that a key takes effect once, whoever asks and however often.

use std::sync::atomic::Ordering;

use serde_json::json;
use tollgate::outcome::{RefusalCode, Status};

use crate::world::{World, call, dropped_when, keyed, scope_of, told};

on_both! {
    async fn a_call_with_an_effect_is_recorded_in_order(world: &World) {
        let store = world.open();
        let settled = call(&world.gate(&store), "r", "c", "pay", json!({"n": 1})).await;
        assert_eq!(settled.status(), Status::Ok);
        store.delivered(world_run("r").run.id(), 0, &["c"]);
        store.flush().await.expect("flushes");
        assert_eq!(told(&store, "r"), ["proposed", "decided", "started", "settled ok", "delivered"]);
    }

    async fn a_read_and_a_refusal_are_one_record_each(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        assert_eq!(call(&gate, "r", "a", "look", json!({"n": 1})).await.status(), Status::Ok);
        assert_eq!(call(&gate, "r", "b", "look", json!({"n": "x"})).await.status(), Status::Refused);
        assert_eq!(call(&gate, "r", "c", "nothing", json!({})).await.status(), Status::Refused);
        store.flush().await.expect("flushes");
        assert_eq!(told(&store, "r"), ["call ok", "call refused", "call refused"]);
        let run = store.run("r").expect("reads").expect("a run");
        assert_eq!((run.calls, run.ok, run.refused), (3, 1, 2));
    }

    async fn the_record_of_a_call_holds_what_was_asked_and_who_allowed_it(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let _ = call(&gate, "r", "a", "pay", json!({"n": 7})).await;
        let _ = call(&gate, "r", "b", "look", json!({"n": 8})).await;
        let _ = call(&gate, "r", "c", "look", json!({"n": "x"})).await;
        store.flush().await.expect("flushes");
        let entries = store.journal("r", 0).expect("reads");
        let lines: Vec<_> = entries.iter().flat_map(tollgate_store::Entry::lines).collect();
        let proposed = lines.iter().find(|line| line.r == "proposed").expect("proposed");
        assert_eq!(proposed.input.map(serde_json::value::RawValue::get), Some(r#"{"n":7}"#));
        let decided = lines.iter().find(|line| line.r == "decided").expect("decided");
        assert_eq!(decided.by.as_deref(), Some("allow *"));
        let reads: Vec<_> = lines.iter().filter(|line| line.r == "call").collect();
        assert_eq!(reads[0].input.map(serde_json::value::RawValue::get), Some(r#"{"n":8}"#));
        assert_eq!(reads[0].by.as_deref(), Some("allow *"));
        assert_eq!(reads[1].text.as_deref(), Some(r#"{"n":"x"}"#));
    }

    async fn a_secret_in_the_arguments_or_the_answer_is_not_in_the_journal(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let key = "AKIAIOSFODNN7EXAMPLE";
        for (id, tool, args) in [
            ("a", "pay", json!({"s": format!("use {key}")})),
            ("b", "look", json!({"s": format!("X-Api-Key: {key}")})),
            ("c", "look", json!({"n": format!("is {key}")})),
            ("d", "look", json!({"password": "FAKEpassw0rd!"})),
        ] {
            let _ = call(&gate, "r", id, tool, args).await;
        }
        store.flush().await.expect("flushes");
        let entries = store.journal("r", 0).expect("reads");
        let all: Vec<String> =
            entries.iter().flat_map(|entry| entry.lines().map(|line| serde_json::to_string(&line).expect("JSON"))).collect();
        let all = all.concat();
        assert!(!all.contains(key) && !all.contains("FAKEpassw0rd!"), "{all}");
        assert!(all.matches("[redacted: AWS access key id]").count() >= 4, "{all}");
    }

    async fn a_call_whose_text_names_the_first_line_of_a_key_is_recorded_like_any_other(world: &World) {
        let store = world.open();
        let rules = tollgate::policy::Rules::new().deny("pay").and_then(|rules| rules.allow("*")).expect("rules");
        let gate = world.gate_with(&store, rules, std::sync::Arc::new(tollgate::policy::Nobody));
        let mark = "/etc/-----BEGIN PRIVATE KEY";
        for (id, tool, args) in [
            ("a", "look", json!({"s": mark, "n": "after"})),
            ("b", "pay", json!({"s": mark, "n": 7})),
            ("c", mark, json!({})),
            ("d", "look", json!({"n": 7, "s": format!("{mark} and so on")})),
        ] {
            let _ = call(&gate, "r", id, tool, args).await;
        }
        store.flush().await.expect("flushes");
        let entries = store.journal("r", 0).expect("reads");
        let tree = tollgate_store::RunTrace::of("r", &entries);
        let told: Vec<_> = tree.calls.iter().map(|call| (&*call.id, call.status())).collect();
        assert_eq!(told, [("a", "refused"), ("b", "refused"), ("c", "refused"), ("d", "ok")]);
        assert_eq!(tree.unreadable, 0);
        assert_eq!(tree.calls[3].input, json!({"n": 7, "s": "/etc/[redacted: private key] and so on"}));
        assert!(store.verify().expect("reads").is_readable());
    }

    async fn a_claim_that_is_granted_to_a_call_nobody_drives_any_more_is_given_back(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let started = || told(&store, "gone").contains(&"started".to_owned());
        dropped_when(world, keyed(&gate, "gone", "pay", json!({"n": 1}), "k"), started).await;
        let again = keyed(&gate, "next", "pay", json!({"n": 1}), "k");
        let again = tokio::time::timeout(std::time::Duration::from_secs(20), again).await.expect("the key is free");
        assert_eq!((again.status(), again.replayed), (Status::Ok, false));
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
        assert_eq!(told(&store, "gone").last().map(String::as_str), Some("settled refused"));
    }

    async fn the_same_key_replays_the_answer_after_a_restart(world: &World) {
        let first = world.open();
        let one = keyed(&world.gate(&first), "r1", "pay", json!({"n": 1, "s": "ä\u{0}\"\n"}), "k").await;
        first.close();
        let second = world.open();
        let two = keyed(&world.gate(&second), "r2", "pay", json!({"s": "ä\u{0}\"\n", "n": 1}), "k").await;
        assert_eq!(one.output(), two.output());
        assert_eq!(one.evidence_ref(), two.evidence_ref());
        assert_eq!((one.replayed, two.replayed), (false, true));
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
        second.flush().await.expect("flushes");
        assert_eq!(told(&second, "r2").last().map(String::as_str), Some("settled ok"));
    }

    async fn the_same_key_with_other_arguments_is_refused(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let _ = keyed(&gate, "r", "pay", json!({"n": 1}), "k").await;
        let other = keyed(&gate, "r", "pay", json!({"n": 2}), "k").await;
        assert_eq!(other.refusal().expect("refused").code, RefusalCode::IdempotencyConflict);
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
    }

    async fn keys_are_scoped_by_who_calls(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        for caller in ["a", "b"] {
            let call = tollgate::Proposed::new("c", "pay", &json!({"n": 1})).with_key("k");
            let settled = gate.call(&scope_of("r", caller), call).await;
            assert!(!settled.replayed && settled.status() == Status::Ok);
        }
        assert_eq!(world.effects.load(Ordering::SeqCst), 2);
    }

    async fn a_duplicate_waits_for_the_first_also_through_another_store_handle(world: &World) {
        let (one, two) = (world.open(), world.open());
        let (first, second) = (world.gate(&one), world.gate(&two));
        let (a, b, c) = tokio::join!(
            keyed(&first, "r", "slow", json!({"n": 1}), "k"),
            keyed(&first, "r", "slow", json!({"n": 1}), "k"),
            keyed(&second, "r", "slow", json!({"n": 1}), "k"),
        );
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
        assert_eq!([&a, &b, &c].iter().filter(|settled| settled.replayed).count(), 2);
        assert_eq!((a.output(), b.output()), (b.output(), c.output()));
    }

    async fn a_failure_without_effect_frees_its_key(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        for _ in 0..2 {
            let settled = keyed(&gate, "r", "fail", json!({}), "k").await;
            assert_eq!((settled.status(), settled.replayed), (Status::RetryableError, false));
        }
    }

    async fn many_calls_at_once_each_have_one_terminal_record(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let calls = (0..100).map(|n| {
            let gate = gate.clone();
            tokio::spawn(async move {
                let tool = if n % 2 == 0 { "pay" } else { "look" };
                call(&gate, &format!("r{}", n % 3), &format!("c{n}"), tool, json!({"n": n})).await
            })
        });
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(call.await.expect("ends").status(), Status::Ok);
        }
        store.flush().await.expect("flushes");
        let mut terminal = 0;
        for run in ["r0", "r1", "r2"] {
            let told = told(&store, run);
            terminal += told.iter().filter(|told| told.ends_with(" ok")).count();
            let count = |kind: &str| told.iter().filter(|told| told.starts_with(kind)).count();
            assert_eq!((count("proposed"), count("started")), (count("settled"), count("settled")));
        }
        assert_eq!((terminal, world.effects.load(Ordering::SeqCst)), (100, 50));
    }
}

fn world_run(run: &str) -> std::sync::Arc<tollgate::Scope> {
    crate::world::scope(run)
}

#[tokio::test]
async fn a_stored_fingerprint_is_keyed_so_the_same_arguments_look_different_in_two_stores() {
    let mut seen = Vec::new();
    for world in [World::sqlite(), World::sqlite()] {
        let store = world.open();
        let _ = keyed(&world.gate(&store), "r", "pay", json!({"s": "hunter2"}), "k").await;
        store.close();
        let file = world.place().database().expect("a file");
        let database = rusqlite::Connection::open(file).expect("opens");
        let print: Vec<u8> =
            database.query_row("SELECT fingerprint FROM calls", [], |row| row.get(0)).expect("a row");
        seen.push(print);
    }
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn files_of_the_store_are_of_this_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::sqlite();
    let store = world.open();
    let _ = keyed(&world.gate(&store), "r", "pay", json!({}), "k").await;
    let home = world.folder.path().join("home");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o700);
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm", "store.key"] {
        assert_eq!(mode(&home.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&home.join("owners")), 0o700);
}
