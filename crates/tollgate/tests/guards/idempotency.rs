//! Idempotency.

use futures_util::future::join_all;
use serde_json::json;
use tollgate::{
    Failure, Output, Registry,
    guard::{MemoryLedger, Run},
    outcome::{
        Phase::Execute,
        RefusalCode::{self, IdempotencyConflict},
        Status,
    },
    tool::Caller,
};

use crate::world::{Bodies, Count, World, fine, reader, refused, text, writer};
use crate::{ms, total, within};

#[tokio::test(start_paused = true)]
async fn the_same_key_and_arguments_give_the_same_answer_and_run_once() {
    for answer in [Ok(Output::text("order 7")), Err(Failure::fatal("no such order"))] {
        let runs = Count::default();
        let mut world = World::of(writer("t").answers(&runs, answer)).build();
        let first = world.keyed("k", "t", json!({"n": 1, "path": "a"})).await;
        let again = world.keyed("k", "t", json!({"path": "a", "n": 1})).await;
        assert_eq!((runs.get(), first.replayed, again.replayed), (1, false, true));
        assert_eq!((&first.outcome, first.evidence_ref()), (&again.outcome, again.evidence_ref()));
        assert_ne!(first.id, again.id, "each answer has its own call's id");
        assert_eq!(again.attempts, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_stands_for_one_tool_and_one_set_of_arguments() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(writer("t").answers(&runs, fine()))
        .and_then(|registry| registry.with(writer("other").answers(&runs, fine())))
        .unwrap();
    let mut world = World::with(registry).build();
    let _ = world.keyed("k", "t", json!({"n": 1})).await;
    for (tool, input) in [("t", json!({"n": 2})), ("other", json!({"n": 1}))] {
        assert_eq!(refused(&world.keyed("k", tool, input).await), (Execute, IdempotencyConflict));
    }
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_at_the_same_time_waits_for_the_answer() {
    for builder in [reader("t"), writer("t")] {
        let runs = Count::default();
        let mut world = World::of(builder.takes(&runs, ms(1000))).build();
        let (gate, scope) = (world.gate.clone(), world.scope());
        let calls: Vec<_> = (0..5).map(|_| world.proposed("t", "{}").with_key("k")).collect();
        let answers = join_all(calls.into_iter().map(|call| gate.call(&scope, call))).await;
        assert_eq!(runs.get(), 1);
        assert!(answers.iter().all(|answer| text(answer) == "done"));
        assert_eq!(answers.iter().filter(|answer| answer.replayed).count(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_caller_went_away_midway_is_unknown_and_never_runs_again() {
    let runs = Count::default();
    let mut world = World::of(writer("t").takes(&runs, ms(1000))).build();
    assert!(tokio::time::timeout(ms(500), world.keyed("k", "t", json!({}))).await.is_err());
    for _ in 0..2 {
        let again = world.keyed("k", "t", json!({}));
        let settled = tokio::time::timeout(ms(5000), again).await.expect("nobody is waited for");
        assert_eq!((settled.status(), runs.get()), (Status::Unknown, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_timed_out_is_unknown_under_its_key_and_never_runs_again() {
    let runs = Count::default();
    let mut world = World::of(within(writer("t"), total(ms(100))).hangs(&runs)).build();
    for _ in 0..2 {
        assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Unknown);
    }
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_retryable_error_frees_the_key() {
    let runs = Count::default();
    let tool = writer("t").answers_in_turn(&runs, vec![Err(Failure::retryable("busy")), fine()]);
    let mut world = World::of(tool).build();
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::RetryableError);
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Ok);
    assert_eq!(runs.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn keys_of_different_callers_are_different_keys() {
    let runs = Count::default();
    let mut world = World::of(writer("t").answers(&runs, fine())).build();
    let _ = world.keyed("k", "t", json!({"n": 1})).await;
    world.scope.caller = Caller::new("someone else");
    assert_eq!(world.keyed("k", "t", json!({"n": 2})).await.status(), Status::Ok);
    assert_eq!(runs.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_a_key_has_one_made_of_run_turn_place_and_id() {
    let runs = Count::default();
    let mut world = World::of(writer("t").answers(&runs, fine())).build();
    let call = world.proposed("t", "{}");
    assert!(!world.gate.call(&world.scope(), call.clone()).await.replayed);
    assert!(world.gate.call(&world.scope(), call.clone()).await.replayed, "the very same proposal");
    world.scope.turn = 1;
    assert!(!world.gate.call(&world.scope(), call.clone()).await.replayed, "providers repeat ids");
    world.scope.run = Run::new("another");
    assert!(!world.gate.call(&world.scope(), call).await.replayed);
    assert_eq!(runs.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_key_travels_to_the_body() {
    let tool = writer("t").run(|cx, _| {
        Box::pin(async move { Ok(Output::text(cx.idempotency_key().unwrap().as_str().to_owned())) })
    });
    let mut world = World::of(tool).build();
    assert_eq!(text(&world.keyed("order-7", "t", json!({})).await), "order-7");
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_insist_on_a_key() {
    let runs = Count::default();
    let tool = writer("t").spec(|spec| spec.requires_idempotency_key = true);
    let mut world = World::of(tool.answers(&runs, fine())).build();
    assert_eq!(refused(&world.call("t", json!({})).await), (Execute, RefusalCode::MissingIdempotencyKey));
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Ok);
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_ledger_in_memory_forgets_the_oldest_key_beyond_its_capacity() {
    let runs = Count::default();
    let ledger = MemoryLedger::new(2);
    let mut world = World::of(writer("t").answers(&runs, fine())).gate(|gate| gate.ledger(ledger)).build();
    for key in ["a", "b", "c"] {
        let _ = world.keyed(key, "t", json!({})).await;
    }
    assert!(world.keyed("c", "t", json!({})).await.replayed);
    assert!(world.keyed("b", "t", json!({})).await.replayed);
    assert!(!world.keyed("a", "t", json!({})).await.replayed);
}

#[tokio::test(start_paused = true)]
async fn the_ledger_in_memory_lets_go_of_answers_beyond_its_bytes_and_still_runs_no_key_twice() {
    let runs = Count::default();
    let answer = Ok(Output::text("x".repeat(10_000)));
    let tool = writer("t").spec(|spec| spec.max_result = tollgate::tool::ResultLimit::Unlimited);
    let ledger = MemoryLedger::new(10).holding(25_000);
    let mut world = World::of(tool.answers(&runs, answer)).gate(|gate| gate.ledger(ledger)).build();
    for key in ["a", "b", "c", "d"] {
        assert_eq!(text(&world.keyed(key, "t", json!({})).await).len(), 10_000);
    }
    for (key, held) in [("a", false), ("b", false), ("c", true), ("d", true)] {
        let again = world.keyed(key, "t", json!({})).await;
        assert!(again.replayed, "{key}: {again:?}");
        let status = if held { Status::Ok } else { Status::FatalError };
        assert_eq!(again.status(), status, "{key}");
        if let Some(failure) = again.failure() {
            assert!(failure.message.contains("went well") && failure.hint.is_some(), "{failure:?}");
        }
    }
    assert_eq!(runs.get(), 4);
    // One that alone is too much is let go of at once, and what is small is held again.
    let big = writer("t").spec(|spec| spec.max_result = tollgate::tool::ResultLimit::Unlimited);
    let big = big.answers(&runs, Ok(Output::text("x".repeat(30_000))));
    let ledger = MemoryLedger::new(10).holding(25_000);
    let mut world = World::of(big).gate(|gate| gate.ledger(ledger)).build();
    assert_eq!(world.keyed("a", "t", json!({})).await.status(), Status::Ok);
    assert_eq!(world.keyed("a", "t", json!({})).await.status(), Status::FatalError);
    assert_eq!(runs.get(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_ledger_in_memory_never_forgets_a_key_that_still_runs() {
    let runs = Count::default();
    let count = runs.clone();
    let tool = reader("t").run(move |_, args| {
        if args["n"] == 0 {
            count.up();
        }
        let wait = if args["n"] == 0 { ms(1000) } else { ms(1) };
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            fine()
        })
    });
    let mut world = World::of(tool).gate(|gate| gate.ledger(MemoryLedger::new(1))).build();
    let (gate, scope) = (world.gate.clone(), world.scope());
    let slow = world.proposed("t", &json!({"n": 0})).with_key("slow");
    let again = world.proposed("t", &json!({"n": 0})).with_key("slow");
    let others = async {
        tokio::task::yield_now().await;
        for n in 1..5 {
            let _ = world.keyed(&format!("k{n}"), "t", json!({"n": n})).await;
        }
        gate.call(&scope, again).await
    };
    let (first, second) = tokio::join!(gate.call(&scope, slow), others);
    assert_eq!((first.status(), second.status(), runs.get()), (Status::Ok, Status::Ok, 1));
    assert!(second.replayed);
}
