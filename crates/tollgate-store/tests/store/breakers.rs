//! A breaker that opens in one process is seen by the others within a second.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tollgate::{
    Tollgate,
    guard::{BreakerKey, BreakerState},
    outcome::{RefusalCode, Status},
    policy::{Nobody, Rules},
};

use crate::world::{World, call};

/// Longer than a look at the store takes, and short of forever.
const SOON: Duration = Duration::from_secs(10);

fn gate(world: &World, store: &tollgate_store::Store) -> Tollgate {
    let rules = Rules::new().allow("*").expect("a rule");
    world.builder(store, rules, Arc::new(Nobody)).breaker_book(store.clone()).build()
}

async fn until_look(gate: &Tollgate, wanted: Status) -> Duration {
    let began = Instant::now();
    for n in 0.. {
        let settled = call(gate, &format!("u{n}"), "c", "look", json!({})).await;
        if settled.status() == wanted {
            return began.elapsed();
        }
        assert!(began.elapsed() < SOON, "{settled:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}

on_both! {
    async fn a_breaker_opened_by_hand_elsewhere_stops_calls_here_until_it_is_reset(world: &World) {
        let (here, elsewhere) = (world.open(), world.open());
        let gate = gate(world, &here);
        assert_eq!(call(&gate, "r", "a", "look", json!({})).await.status(), Status::Ok);
        let key = BreakerKey::Tool("look".into());
        tokio::task::block_in_place(|| elsewhere.open_breaker(key.clone())).expect("opens");
        until_look(&gate, Status::Refused).await;
        tokio::task::block_in_place(|| elsewhere.reset_breaker(key)).expect("resets");
        until_look(&gate, Status::Ok).await;
    }

    async fn failures_in_one_process_open_the_breaker_for_the_other(world: &World) {
        let (one, two) = (world.open(), world.open());
        let (failing, other) = (gate(world, &one), gate(world, &two));
        assert_eq!(call(&other, "o", "a", "fail", json!({})).await.status(), Status::RetryableError);
        for n in 0..5 {
            let _ = call(&failing, &format!("f{n}"), "c", "fail", json!({})).await;
        }
        let began = Instant::now();
        loop {
            let settled = call(&other, &format!("o{:?}", began.elapsed()), "c", "fail", json!({})).await;
            if let Some(refusal) = settled.refusal() {
                assert_eq!(refusal.code, RefusalCode::CircuitOpen);
                break;
            }
            assert!(began.elapsed() < SOON);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        one.flush().await.expect("flushes");
        let known = one.breakers().expect("reads");
        assert!(known.iter().any(|breaker| breaker.state == BreakerState::Open), "{known:?}");
    }
}
