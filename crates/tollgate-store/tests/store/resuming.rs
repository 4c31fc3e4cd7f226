//! A run that goes on after its process ended: what has an answer is not run again.

use std::sync::{Arc, atomic::Ordering};

use serde_json::json;
use tollgate::{
    Proposed, Scope,
    guard::{Run, Workspace},
    outcome::Status,
    tool::RunId,
};
use tollgate_store::{Entry, ModelTurn, RunTrace};

use crate::world::{World, told};

fn turn(number: u32) -> Arc<Scope> {
    let mut scope = Scope::new(Run::new("r"), Workspace::new("/tmp"));
    scope.turn = number;
    Arc::new(scope)
}

on_both! {
    async fn a_finished_call_of_a_resumed_run_has_its_answer_and_does_not_run_again(world: &World) {
        let run = RunId::new("r");
        let first = world.open();
        let gate = world.gate(&first);
        let paid = gate.call(&turn(3), Proposed::new("call_1", "pay", &json!({"n": 1}))).await;
        let looked = gate.call(&turn(3), Proposed::new("call_2", "look", &json!({"n": 1}))).await;
        first.close();

        let second = world.open();
        let known = second.answer_of(&run, 3, "call_1").expect("reads").expect("an answer");
        assert_eq!((known.output(), known.evidence_ref()), (paid.output(), paid.evidence_ref()));
        let known = second.answer_of(&run, 3, "call_2").expect("reads").expect("an answer");
        assert_eq!(known.output(), looked.output());
        // Providers repeat ids: another turn's call is another call.
        assert!(second.answer_of(&run, 4, "call_1").expect("reads").is_none());
        assert!(second.answer_of(&run, 3, "call_9").expect("reads").is_none());
        // And one who walks it again all the same gets the same answer, not a second effect.
        let again = world.gate(&second).call(&turn(3), Proposed::new("call_1", "pay", &json!({"n": 1}))).await;
        assert!(again.replayed && again.output() == paid.output());
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
    }

    async fn a_call_that_was_cut_off_is_answered_as_unknown_on_resuming(world: &World) {
        let store = world.open();
        let gate = world.gate(&store);
        let cut = tokio::spawn(async move { gate.call(&turn(1), Proposed::new("c", "hang", &json!({"n": 1}))).await });
        while !told(&store, "r").contains(&"started".to_owned()) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        tokio::task::block_in_place(|| store.close());
        cut.abort();
        let known = world.open().answer_of(&RunId::new("r"), 1, "c").expect("reads").expect("an answer");
        assert_eq!(known.status(), Status::Unknown);
    }

    async fn a_ledger_recalls_what_began_under_a_key_and_claims_nothing(world: &World) {
        let first = world.open();
        let gate = world.gate(&first);
        let keyed = |key: &str, tool: &str| Proposed::new("c", tool, &json!({"n": 1})).with_key(key);
        let paid = gate.call(&turn(1), keyed("paid", "pay")).await;
        let hangs = gate.clone();
        let cut = tokio::spawn(async move { hangs.call(&turn(1), keyed("cut", "hang")).await });
        while told(&first, "r").iter().filter(|told| *told == "started").count() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(gate.recall(&turn(1), &keyed("cut", "hang")).await.expect("reads").is_none(), "it still runs");
        tokio::task::block_in_place(|| first.close());
        cut.abort();

        let second = world.open();
        let gate = world.gate(&second);
        let known = gate.recall(&turn(1), &keyed("paid", "pay")).await.expect("reads").expect("an answer");
        assert_eq!((known.output(), known.replayed), (paid.output(), true));
        let known = gate.recall(&turn(1), &keyed("cut", "hang")).await.expect("reads").expect("an answer");
        assert_eq!((known.status(), &*known.tool), (Status::Unknown, "hang"));
        for _ in 0..2 {
            assert!(gate.recall(&turn(1), &keyed("new", "pay")).await.expect("reads").is_none());
        }
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
    }

    async fn what_the_model_took_and_why_the_run_ended_is_in_its_trace(world: &World) {
        let store = world.open();
        let run = RunId::new("r");
        let _ = world.gate(&store).call(&turn(1), Proposed::new("c", "pay", &json!({"n": 1}))).await;
        let of = ModelTurn {
            model: "m-1".to_owned(), input_tokens: 120, output_tokens: 30, microdollars: Some(450),
            stop_reason: Some("tool_use".to_owned()), duration_ms: 900,
        };
        store.model_turn(&run, 1, &of);
        store.stopped(&run, "end_turn");
        store.flush().await.expect("flushes");
        let entries: Vec<Entry> = store.journal("r", 0).expect("reads");
        let tree = RunTrace::of("r", &entries);
        assert_eq!(tree.models.iter().map(|model| (model.turn, model.of.clone())).collect::<Vec<_>>(), [(1, of)]);
        assert_eq!(tree.stopped.as_deref(), Some("end_turn"));
        assert!(tree.calls[0].evidence_ref.as_deref().is_some_and(|evidence| evidence.starts_with("sha256:")));
    }
}
