//! What a run has spent is counted once for all its processes, and a resumed run goes on with it.

use std::sync::{Arc, atomic::Ordering};

use serde_json::json;
use tollgate::{
    Proposed, Scope,
    guard::{Budget, Run, Workspace},
    outcome::{RefusalCode, Status},
};
use tollgate_store::Store;

use crate::world::{World, dropped_when};

fn budget(calls: u64) -> Budget {
    let mut budget = Budget::default();
    budget.calls = Some(calls);
    budget
}

fn scope(store: &Store, budget: Budget) -> Arc<Scope> {
    let run = Run::builder("r").budget(budget).kept_in(Arc::new(store.clone())).build();
    Arc::new(Scope::new(run, Workspace::new("/tmp")))
}

on_both! {
    async fn a_call_counted_for_somebody_who_went_away_is_not_counted_any_more(world: &World) {
        let store = world.open();
        let (gate, scope) = (world.gate(&store), scope(&store, budget(1)));
        let counted = || store.spending(Some("r")).expect("reads").first().is_some_and(|run| run.spent.calls == 1);
        dropped_when(world, gate.call(&scope, Proposed::new("a", "look", &json!({}))), counted).await;
        store.flush().await.expect("flushes");
        assert_eq!(store.spending(Some("r")).expect("reads")[0].spent.calls, 0);
        let next = gate.call(&scope, Proposed::new("b", "look", &json!({}))).await;
        assert_eq!(next.status(), Status::Ok, "{next:?}");
    }

    async fn two_processes_of_a_run_never_spend_more_than_its_budget(world: &World) {
        let (one, two) = (world.open(), world.open());
        let gates = [(world.gate(&one), scope(&one, budget(10))), (world.gate(&two), scope(&two, budget(10)))];
        let calls = (0..40).map(|n| {
            let (gate, scope) = gates[n % 2].clone();
            let tool = if n % 4 < 2 { "pay" } else { "look" };
            tokio::spawn(async move { gate.call(&scope, Proposed::new(format!("c{n}"), tool, &json!({"n": n}))).await })
        });
        let (mut ran, mut refused) = (0, 0);
        for call in calls.collect::<Vec<_>>() {
            let settled = call.await.expect("ends");
            match settled.refusal() {
                None => ran += 1,
                Some(refusal) => {
                    assert_eq!(refusal.code, RefusalCode::BudgetExhausted, "{refusal:?}");
                    refused += 1;
                }
            }
        }
        assert_eq!((ran, refused), (10, 30));
        assert_eq!(one.spending(Some("r")).expect("reads")[0].spent.calls, 10);
    }

    async fn a_resumed_run_goes_on_with_what_it_had_spent(world: &World) {
        let mut of_tool = budget(100);
        of_tool.calls_of.insert("pay".to_owned(), 2);
        of_tool.tokens = Some(1_000);
        let first = world.open();
        let (gate, before) = (world.gate(&first), scope(&first, of_tool.clone()));
        before.run.purse().charge(400, 7);
        for n in 0..2 {
            assert_eq!(gate.call(&before, Proposed::new(format!("c{n}"), "pay", &json!({"n": n}))).await.status(), Status::Ok);
        }
        first.close();

        let second = world.open();
        let (gate, after) = (world.gate(&second), scope(&second, of_tool));
        after.run.purse().refresh().await;
        let spent = after.run.purse().spent();
        assert_eq!((spent.calls, spent.calls_of["pay"], spent.tokens, spent.microdollars), (2, 2, 400, 7));
        let third = gate.call(&after, Proposed::new("c2", "pay", &json!({"n": 2}))).await;
        assert_eq!(third.refusal().expect("refused").code, RefusalCode::BudgetExhausted);
        assert_eq!(gate.call(&after, Proposed::new("c3", "look", &json!({}))).await.status(), Status::Ok);
        after.run.purse().charge(600, 0);
        let full = gate.call(&after, Proposed::new("c4", "look", &json!({}))).await;
        assert_eq!(full.refusal().expect("refused").code, RefusalCode::BudgetExhausted);
        assert_eq!(world.effects.load(Ordering::SeqCst), 2);

        assert!(tokio::task::block_in_place(|| second.reset_spending("r")).expect("resets"));
        let fresh = scope(&second, budget(1));
        assert_eq!(gate.call(&fresh, Proposed::new("c5", "pay", &json!({"n": 5}))).await.status(), Status::Ok);
    }

    async fn a_call_that_never_started_is_given_back(world: &World) {
        let store = world.open();
        let (gate, scope) = (world.gate(&store), scope(&store, budget(2)));
        let key = |n: i64| Proposed::new("c", "pay", &json!({"n": n})).with_key("k");
        assert_eq!(gate.call(&scope, key(1)).await.status(), Status::Ok);
        // The same key for something else is refused after it was counted, and an answer that was found is no new call.
        assert_eq!(gate.call(&scope, key(2)).await.status(), Status::Refused);
        assert!(gate.call(&scope, key(1)).await.replayed);
        store.flush().await.expect("flushes");
        assert_eq!(store.spending(Some("r")).expect("reads")[0].spent.calls, 1);
    }

    async fn a_book_that_fails_lets_no_call_through(world: &World) {
        let store = world.open();
        let (gate, scope) = (world.gate(&world.open()), scope(&store, budget(5)));
        tokio::task::block_in_place(|| store.close());
        let settled = gate.call(&scope, Proposed::new("c", "pay", &json!({"n": 1}))).await;
        assert_eq!(settled.refusal().expect("refused").code, RefusalCode::Internal);
        assert_eq!(world.effects.load(Ordering::SeqCst), 0);
    }
}
