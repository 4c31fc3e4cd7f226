//! A store of an earlier version is brought up to this one: nothing is lost, and what it promised it still keeps.

use std::sync::atomic::Ordering;

use serde_json::json;
use tollgate::outcome::Status;
use tollgate_store::{RunTrace, Store, StoreError};

use crate::world::{World, call, keyed, told};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const STORES: [&str; 2] = [include_str!("../data/store-1.sql"), include_str!("../data/store-2.sql")];

fn open(world: &World) -> Result<Store, StoreError> {
    Store::open(world.place().keyed(KEY).expect("a key"))
}

/// Everything the fixture holds, and that it goes on from there.
async fn is_whole(world: &World, fixture: &str) {
    world.sql(fixture);
    let store = open(world).expect("opens");
    assert_eq!(store.recovered(), 1, "the call its process left running");
    assert!(store.verify().expect("reads").is_whole(), "{:?}", store.verify());

    let friday = ["proposed", "decided", "started", "settled ok", "proposed", "decided", "started"];
    let friday = [&friday[..], &["settled retryable_error", "call ok", "call refused"]].concat();
    assert_eq!(told(&store, "friday"), friday);
    let saturday = ["proposed", "decided", "started", "settled ok", "proposed", "decided", "started"];
    assert_eq!(told(&store, "saturday"), [&saturday[..], &["settled unknown"]].concat());
    let listed: Vec<_> = store.runs(9).expect("reads").into_iter().map(|run| (run.run, run.calls)).collect();
    assert_eq!(listed, [("saturday".to_owned(), 2), ("friday".to_owned(), 4)]);
    let tree = RunTrace::of("friday", &store.journal("friday", 0).expect("reads"));
    let tools: Vec<_> = tree.calls.iter().map(|call| (call.tool.as_str(), call.status())).collect();
    let expected =
        [("pay", "ok"), ("fail", "retryable_error"), ("look", "ok"), ("nothing_like_it", "refused")];
    assert_eq!(tools, expected);
    assert_eq!(store.breakers().expect("reads").len(), 1);

    let gate = world.gate(&store);
    assert!(keyed(&gate, "friday", "pay", json!({"n": 1}), "invoice-7").await.replayed);
    assert_eq!(keyed(&gate, "friday", "pay", json!({"n": 8}), "invoice-7").await.status(), Status::Refused);
    assert_eq!(
        keyed(&gate, "saturday", "hang", json!({"n": 4}), "invoice-9").await.status(),
        Status::Unknown
    );
    assert_eq!(world.effects.load(Ordering::SeqCst), 0, "nothing ran again");
    assert_eq!(keyed(&gate, "friday", "pay", json!({"n": 2}), "invoice-8").await.status(), Status::Ok);
    assert_eq!(call(&gate, "sunday", "c1", "pay", json!({"n": 5})).await.status(), Status::Ok);
    store.flush().await.expect("flushes");
    assert_eq!(told(&store, "sunday").len(), 4);
    assert!(told(&store, "friday").len() > friday.len());
    assert!(store.verify().expect("reads").is_whole(), "{:?}", store.verify());
    tokio::task::block_in_place(|| store.close());
    open(world).expect("opens again: there is nothing left to do");
}

on_both! {
    async fn a_store_of_version_1_is_whole_and_keeps_its_promises(world: &World) {
        is_whole(world, STORES[0]).await;
    }

    async fn a_store_of_version_2_is_whole_and_keeps_its_promises(world: &World) {
        is_whole(world, STORES[1]).await;
        let store = open(world).expect("opens");
        let spent = store.spending(Some("friday")).expect("reads");
        assert!(!spent.is_empty(), "what was spent is still known");
    }

    async fn a_store_that_was_changed_before_it_was_brought_up_is_not_whole_after(world: &World) {
        world.sql(STORES[1]);
        world.sql("UPDATE journal SET at = at + 1 WHERE seq = 4");
        let report = open(world).expect("opens").verify().expect("reads");
        assert_eq!(report.broken.map(|broken| broken.seq), Some(4));
    }

    async fn two_programs_that_open_an_old_store_together_bring_it_up_once(world: &World) {
        world.sql(STORES[0]);
        let (one, two) = tokio::task::block_in_place(|| {
            std::thread::scope(|threads| {
                let other = threads.spawn(|| open(world));
                (open(world), other.join().expect("ends"))
            })
        });
        let (one, two) = (one.expect("opens"), two.expect("opens"));
        assert_eq!(one.recovered() + two.recovered(), 1);
        assert!(one.verify().expect("reads").is_whole());
    }

    async fn a_run_whose_rows_were_hidden_is_found_by_the_chain(world: &World) {
        for (statement, seq) in [
            ("UPDATE runs SET tail = 2 WHERE run = 'friday'", 6),
            ("UPDATE runs SET tail = 1000 WHERE run = 'friday'", 6),
            ("DELETE FROM runs WHERE run = 'friday'", 6),
            ("UPDATE journal SET prev = 1 WHERE seq = 5", 5),
        ] {
            let world = if world.place().database().is_some() { Some(World::sqlite()) } else { World::postgres() };
            let world = world.expect("a place");
            world.sql(STORES[1]);
            let store = open(&world).expect("opens");
            assert!(store.verify().expect("reads").is_whole());
            world.sql(statement);
            let report = store.verify().expect("reads");
            assert_eq!(report.broken.map(|broken| broken.seq), Some(seq), "{statement}");
        }
    }

    async fn a_row_that_names_itself_as_the_one_before_ends_the_walk(world: &World) {
        world.sql(STORES[1]);
        let store = open(world).expect("opens");
        world.sql("UPDATE journal SET prev = 5 WHERE seq = 5");
        let rows: Vec<_> = store.journal("friday", 0).expect("reads").iter().map(|row| row.seq).collect();
        assert_eq!(rows, [5, 6]);
    }
}
