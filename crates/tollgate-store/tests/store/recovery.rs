//! What a process that went away leaves behind gets its end, once, and nothing runs again by itself.

use std::{
    sync::atomic::Ordering,
    task::{Context, Waker},
    time::Duration,
};

use serde_json::json;
use tollgate::outcome::{RefusalCode, Status};
use tollgate_store::{Place, Store};

use crate::world::{World, call, keyed, told};

/// Waits until the first start of the run is on the disk.
async fn has_started(store: &Store, run: &str) {
    let looking = async {
        while !told(store, run).contains(&"started".to_owned()) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looking).await.expect("it starts");
}

on_both! {
    async fn a_call_given_up_while_it_ran_is_unknown_and_not_run_again(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let given_up = keyed(&gate, "r", "slow", json!({"n": 1}), "k");
        tokio::select! {
            ended = given_up => panic!("{ended:?}"),
            () = async {
                has_started(&store, "r").await;
                // Long enough for the body to have begun, and not for its second.
                tokio::time::sleep(Duration::from_millis(50)).await;
            } => {}
        }
        let again = keyed(&gate, "r", "slow", json!({"n": 1}), "k").await;
        assert_eq!(again.status(), Status::Unknown);
        store.flush().await.expect("flushes");
        assert!(told(&store, "r").contains(&"settled unknown".to_owned()));
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        assert!(world.effects.load(Ordering::SeqCst) <= 1);
    }

    async fn a_claim_that_was_granted_and_never_heard_of_is_let_go(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        // Its start is on the disk when it is dropped, and it was not asked again since: it cannot know.
        let mut unheard = Box::pin(keyed(&gate, "r", "pay", json!({"n": 1}), "k"));
        let once = unheard.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(once.is_pending());
        has_started(&store, "r").await;
        drop(unheard);
        let again = tokio::time::timeout(Duration::from_secs(20), keyed(&gate, "r", "pay", json!({"n": 1}), "k"));
        assert_eq!(again.await.expect("waits for nobody").status(), Status::Ok);
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
        store.flush().await.expect("flushes");
        let told = told(&store, "r");
        assert!(told.contains(&"settled refused".to_owned()), "{told:?}");
    }

    async fn an_owner_that_stands_still_is_taken_for_dead_and_its_late_end_does_not_count(world: &World) {
        // A lease so short that a beat is always late: the body takes a second.
        let still = World::with_lease(world.place(), Duration::from_secs(100));
        let hasty = World::with_lease(world.place(), Duration::from_millis(30));
        let (slow, quick) = (world.gate(&still), world.gate(&hasty));
        let (first, second) = tokio::join!(keyed(&slow, "r", "slow", json!({"n": 1}), "k"), async {
            has_started(&still, "r").await;
            keyed(&quick, "r", "slow", json!({"n": 1}), "k").await
        });
        assert_eq!(second.status(), Status::Unknown, "{second:?}");
        // Others were told that it is unknown, and so is whoever ran it.
        assert_eq!(first.status(), Status::Unknown, "{first:?}");
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
        still.flush().await.expect("flushes");
        hasty.flush().await.expect("flushes");
        let ends = told(&still, "r").iter().filter(|told| *told == "settled unknown").count();
        assert_eq!(ends, 2, "one for the call, one for the duplicate that was told so");
        // It goes on under a new number.
        assert_eq!(call(&slow, "r", "next", "pay", json!({"n": 2})).await.status(), Status::Refused);
        assert_eq!(call(&slow, "r", "next2", "pay", json!({"n": 2})).await.status(), Status::Ok);
    }

    async fn a_store_that_is_closed_gives_open_calls_their_end(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let running = tokio::spawn(async move { call(&gate, "r", "c", "slow", json!({"n": 1})).await });
        has_started(&store, "r").await;
        tokio::task::block_in_place(|| store.close());
        let settled = running.await.expect("ends");
        // The body had begun and its answer is known here; the record says what was known then.
        assert_eq!(settled.status(), Status::Ok);
        let after = world.open();
        assert_eq!(told(&after, "r"), ["proposed", "decided", "started", "settled unknown"]);
        let next = call(&world.gate(&store), "r", "d", "pay", json!({})).await;
        assert_eq!(next.refusal().expect("refused").code, RefusalCode::Internal);
    }
}

#[tokio::test]
async fn a_store_made_by_a_newer_program_is_refused_in_one_clear_sentence() {
    let world = World::sqlite();
    world.open().close();
    let file = world.place().database().expect("a file");
    let database = rusqlite::Connection::open(file).expect("opens");
    database.execute("UPDATE meta SET value = '99' WHERE name = 'version'", []).expect("updates");
    let error = Store::open(Place::folder(world.folder.path().join("home"))).expect_err("refused");
    let words = error.to_string();
    assert!(words.contains("is of version 99") && words.contains("versions up to 3"), "{words}");
    assert!(error.hint().contains("update this program"), "{}", error.hint());
}
