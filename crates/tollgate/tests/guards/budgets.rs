//! Budgets.

use futures_util::future::join_all;
use serde_json::json;
use tollgate::{
    BoxFuture, Registry,
    guard::{Budget, Run},
    outcome::{
        Phase::{Execute, Permit},
        RefusalCode::{self, BudgetExhausted, IdempotencyConflict},
        Status,
    },
};

use crate::ms;
use crate::world::{Bodies, Count, World, fine, reader, refused, writer};

fn limited(change: impl FnOnce(&mut Budget)) -> Run {
    let mut budget = Budget::default();
    change(&mut budget);
    Run::builder("run").budget(budget).build()
}

#[tokio::test(start_paused = true)]
async fn a_run_makes_as_many_calls_as_its_budget_allows() {
    let runs = Count::default();
    let mut world =
        World::of(reader("t").answers(&runs, fine())).run(limited(|budget| budget.calls = Some(2))).build();
    for n in 0..4 {
        let _ = world.call("t", json!({"n": n})).await;
    }
    assert_eq!(runs.get(), 2);
    assert_eq!(refused(&world.call("t", json!({})).await), (Permit, BudgetExhausted));
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_a_budget_of_its_own() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(reader("dear").answers(&runs, fine()))
        .and_then(|registry| registry.with(reader("cheap").answers(&runs, fine())))
        .unwrap();
    let run = limited(|budget| {
        budget.calls_of.insert("dear".into(), 1);
    });
    let mut world = World::with(registry).run(run).build();
    assert_eq!(world.call("dear", json!({})).await.status(), Status::Ok);
    assert_eq!(refused(&world.call("dear", json!({"n": 1})).await), (Permit, BudgetExhausted));
    assert_eq!(world.call("cheap", json!({})).await.status(), Status::Ok);
}

#[tokio::test(start_paused = true)]
async fn tool_time_tokens_and_money_are_budgets_too() {
    let make = |run| World::of(reader("t").takes(&Count::default(), ms(600))).run(run).build();

    let mut world = make(limited(|budget| budget.tool_time = Some(ms(1000))));
    for n in 0..2 {
        assert_eq!(world.call("t", json!({"n": n})).await.status(), Status::Ok);
    }
    assert_eq!(refused(&world.call("t", json!({})).await), (Permit, BudgetExhausted));
    assert_eq!(world.scope.run.purse().spent().tool_time, ms(1200));

    for (run, charge) in [
        (limited(|budget| budget.tokens = Some(100)), (60, 0)),
        (limited(|budget| budget.microdollars = Some(100)), (0, 60)),
    ] {
        let mut world = make(run);
        world.scope.run.purse().charge(charge.0, charge.1);
        assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
        world.scope.run.purse().charge(charge.0, charge.1);
        assert_eq!(refused(&world.call("t", json!({})).await), (Permit, BudgetExhausted));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_at_the_same_time_do_not_outspend_the_budget() {
    let runs = Count::default();
    let run = limited(|budget| budget.calls = Some(7));
    let mut world = World::of(reader("t").takes(&runs, ms(10))).run(run).build();
    let (gate, scope) = (world.gate.clone(), world.scope());
    let calls: Vec<_> = (0..50).map(|n| world.proposed("t", &json!({"n": n}))).collect();
    let answers = join_all(calls.into_iter().map(|call| gate.call(&scope, call))).await;
    assert_eq!(runs.get(), 7);
    assert_eq!(answers.iter().filter(|answer| answer.status() == Status::Ok).count(), 7);
    assert_eq!(scope.run.purse().spent().calls, 7);
}

#[tokio::test(start_paused = true)]
async fn calls_that_were_admitted_together_are_still_counted_one_by_one() {
    struct Slow;
    impl tollgate::policy::Approver for Slow {
        fn ask<'a>(&'a self, _: tollgate::policy::Question<'a>) -> BoxFuture<'a, tollgate::policy::Answer> {
            Box::pin(async {
                tokio::time::sleep(ms(100)).await;
                tollgate::policy::Answer::Yes
            })
        }
    }
    let runs = Count::default();
    let registry = Registry::new().with(reader("t").answers(&runs, fine())).unwrap();
    let gate = tollgate::Tollgate::builder(registry).approver(Slow).build();
    let mut world = World::of(reader("t").echoes(&runs)).run(limited(|b| b.calls = Some(1))).build();
    let scope = world.scope();
    let calls: Vec<_> = (0..3).map(|n| world.proposed("t", &json!({"n": n}))).collect();
    let answers = join_all(calls.into_iter().map(|call| gate.call(&scope, call))).await;
    // All were admitted and asked about; only one may still be counted.
    assert_eq!((runs.get(), answers[0].status()), (1, Status::Ok));
    assert_eq!(refused(&answers[1]), (Execute, BudgetExhausted));
}

#[tokio::test(start_paused = true)]
async fn what_never_started_and_what_was_replayed_is_not_counted() {
    let runs = Count::default();
    let run = limited(|budget| {
        budget.calls = Some(9);
        budget.calls_of.insert("t".into(), 9);
    });
    let keyed = writer("t").spec(|spec| spec.requires_idempotency_key = true);
    let mut world = World::of(keyed.answers(&runs, fine())).run(run).build();
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Ok);
    assert!(world.keyed("k", "t", json!({})).await.replayed);
    assert_eq!(refused(&world.keyed("k", "t", json!({"n": 1})).await), (Execute, IdempotencyConflict));
    assert_eq!(refused(&world.call("t", json!({})).await).1, RefusalCode::MissingIdempotencyKey);
    assert_eq!(refused(&world.call("t", json!({"path": "/"})).await).1, RefusalCode::OutsideRoots);
    let spent = world.scope.run.purse().spent();
    assert_eq!((spent.calls, spent.calls_of["t"], runs.get()), (1, 1, 1));
}
