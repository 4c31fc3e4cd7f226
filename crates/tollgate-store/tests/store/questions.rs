//! Questions wait in the store: answered once, from any process, and used up once by exactly the call they are about.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::json;
use tollgate::{
    BoxFuture, Tollgate,
    outcome::{RefusalCode, Status},
    policy::{Answer, Approver, Desk, Lifetime, NotAnswered, Pending, Question, Reply, Rules},
};
use tollgate_store::{Entry, LazyStore, Store};

use crate::world::{World, call, told};

/// Uses an answer that is there, and leaves the question where none is.
struct Parking {
    desk: Store,
    life: Duration,
}

impl Approver for Parking {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            if let Some(reply) = self.desk.take(&question.digest).await.expect("the desk answers") {
                return reply.about(&question.query());
            }
            let id = question.digest.as_str()[..12].to_owned();
            self.desk.park(&Pending::of(&question, id, self.life)).await.expect("parks");
            Answer::Nobody
        })
    }
}

fn asking(world: &World, store: &Store, life: Duration) -> Tollgate {
    let rules = Rules::new().ask("pay").expect("a rule");
    world.gate_with(store, rules, Arc::new(Parking { desk: store.clone(), life }))
}

const DAY: Duration = Duration::from_secs(24 * 3600);

on_both! {
    async fn a_rule_that_quotes_a_secret_stands_in_no_record_in_clear(world: &World) {
        let store = world.open();
        let lazy = LazyStore::new(world.place());
        let args = json!({"s": "password=Zx81-hunter2-ab"});
        let rule = "pay(s=\"password=Zx81-hunter2-ab\")".to_owned();
        let parking = || Arc::new(Parking { desk: store.clone(), life: Duration::from_secs(60) });
        let asking = world.gate_with(&store, Rules::new().ask(&rule).expect("a rule"), parking());
        let watch = lazy.watch(&asking);
        assert_eq!(call(&asking, "r", "a", "pay", args.clone()).await.status(), Status::Refused);
        let id = store.list().await.expect("lists")[0].id.clone();
        let always = Reply::Always { rules: vec![rule.clone()], lifetime: Lifetime::Session };
        store.answer(&id, &always).await.expect("answers");
        assert_eq!(call(&asking, "r", "b", "pay", args.clone()).await.status(), Status::Ok);
        watch.finish();
        let allowing = world.gate_with(&store, Rules::new().allow(&rule).expect("a rule"), parking());
        let watch = lazy.watch(&allowing);
        assert_eq!(call(&allowing, "r", "c", "pay", args).await.status(), Status::Ok);
        watch.finish();
        lazy.get().expect("opened").flush().await.expect("flushes");
        store.flush().await.expect("flushes");
        let entries = store.journal("r", 0).expect("reads");
        let lines: Vec<String> =
            entries.iter().flat_map(Entry::lines).map(|line| serde_json::to_string(&line).expect("JSON")).collect();
        for kind in ["asked", "answered", "decided", "settled", "steps"] {
            assert!(lines.iter().any(|line| line.contains(&format!("\"r\":\"{kind}\""))), "{kind}: {lines:#?}");
        }
        let clear: Vec<_> = lines.iter().filter(|line| line.contains("hunter2")).collect();
        assert!(clear.is_empty(), "{clear:#?}");
    }

    async fn a_parked_question_survives_a_restart_and_is_answered_from_another_process(world: &World) {
        let first = world.open();
        let parked = call(&asking(world, &first, DAY), "r", "c", "pay", json!({"n": 1})).await;
        assert_eq!(parked.refusal().expect("refused").code, RefusalCode::ApprovalRequired);
        first.close();

        let elsewhere = world.open();
        let waiting = elsewhere.list().await.expect("lists");
        assert_eq!((waiting.len(), &waiting[0].args, &*waiting[0].call), (1, &json!({"n": 1}), "c"));
        elsewhere.answer(&waiting[0].id, &Reply::Yes).await.expect("answers");
        assert!(elsewhere.list().await.expect("lists").is_empty());
        elsewhere.close();

        let third = world.open();
        let gate = asking(world, &third, DAY);
        assert_eq!(call(&gate, "r", "d", "pay", json!({"n": 2})).await.status(), Status::Refused, "another call");
        assert_eq!(call(&gate, "r", "e", "pay", json!({"n": 1})).await.status(), Status::Ok);
        assert_eq!(call(&gate, "r", "f", "pay", json!({"n": 1})).await.status(), Status::Refused, "used up");
        assert_eq!(world.effects.load(Ordering::SeqCst), 1);
    }

    async fn of_many_answers_at_once_one_counts(world: &World) {
        let (one, two) = (world.open(), world.open());
        let _ = call(&asking(world, &one, DAY), "r", "c", "pay", json!({"n": 1})).await;
        let id = one.list().await.expect("lists")[0].id.clone();
        let answers = (0..20).map(|n| {
            let (store, id) = (if n % 2 == 0 { one.clone() } else { two.clone() }, id.clone());
            tokio::spawn(async move { store.answer(&id, &Reply::No { message: Some(n.to_string()) }).await })
        });
        let mut counted = 0;
        for answer in answers.collect::<Vec<_>>() {
            match answer.await.expect("ends") {
                Ok(_) => counted += 1,
                Err(NotAnswered::Over(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(counted, 1);
    }

    async fn an_answer_is_used_by_one_of_many_equal_calls(world: &World) {
        let (one, two) = (world.open(), world.open());
        let _ = call(&asking(world, &one, DAY), "r", "c", "pay", json!({"n": 1})).await;
        let id = one.list().await.expect("lists")[0].id.clone();
        one.answer(&id, &Reply::Yes).await.expect("answers");
        let calls = (0..10).map(|n| {
            let gate = asking(world, if n % 2 == 0 { &one } else { &two }, DAY);
            tokio::spawn(async move { call(&gate, &format!("r{n}"), "c", "pay", json!({"n": 1})).await })
        });
        let mut ran = 0;
        for call in calls.collect::<Vec<_>>() {
            ran += u32::from(call.await.expect("ends").status() == Status::Ok);
        }
        assert_eq!((ran, world.effects.load(Ordering::SeqCst)), (1, 1));
    }

    async fn a_question_that_is_too_old_is_neither_listed_nor_answered_nor_used(world: &World) {
        let store = world.open();
        let gate = asking(world, &store, Duration::from_secs(5));
        let _ = call(&gate, "r", "c", "pay", json!({"n": 1})).await;
        let old = store.list().await.expect("lists").remove(0);
        let _ = call(&gate, "r", "d", "pay", json!({"n": 2})).await;
        let answered = store.list().await.expect("lists").into_iter().find(|p| p.args == json!({"n": 2})).expect("waits");
        store.answer(&answered.id, &Reply::Yes).await.expect("answers");
        tokio::time::sleep(Duration::from_millis(5_100)).await;
        assert!(store.list().await.expect("lists").is_empty());
        assert!(matches!(store.answer(&old.id, &Reply::Yes).await, Err(NotAnswered::Expired(_))));
        assert_eq!(store.take(&answered.digest).await, Ok(None));
        assert!(matches!(store.answer("nobody-asked", &Reply::Yes).await, Err(NotAnswered::Unknown(_))));
    }

    async fn questions_and_answers_are_in_the_journal_of_their_run(world: &World) {
        let store = world.open();
        let _ = call(&asking(world, &store, DAY), "r", "c", "pay", json!({"n": 1})).await;
        let id = store.list().await.expect("lists")[0].id.clone();
        store.answer(&id, &Reply::No { message: Some("not today".to_owned()) }).await.expect("answers");
        store.flush().await.expect("flushes");
        let kinds = told(&store, "r");
        assert!(kinds.contains(&"asked".to_owned()) && kinds.contains(&"answered".to_owned()), "{kinds:?}");
        let entries = store.journal("r", 0).expect("reads");
        let said = entries.iter().flat_map(Entry::lines).find(|line| line.r == "answered").and_then(|line| line.steps);
        assert!(said.expect("said").get().contains("not today"));
        assert!(store.verify().expect("reads").is_whole());
    }
}

#[tokio::test]
async fn a_store_that_is_not_there_has_no_questions_and_is_not_made_for_looking() {
    let world = World::sqlite();
    let lazy = LazyStore::new(world.place());
    assert_eq!(lazy.list().await, Ok(Vec::new()));
    assert!(matches!(lazy.answer("x", &Reply::Yes).await, Err(NotAnswered::Unknown(_))));
    assert!(lazy.opened().is_none() && !world.place().exists());
}

#[tokio::test]
async fn an_answer_written_into_the_database_by_hand_is_none() {
    let world = World::sqlite();
    let store = world.open();
    let gate = asking(&world, &store, DAY);
    let _ = call(&gate, "r", "c", "pay", json!({"n": 1})).await;
    let forged = [&[0; 32][..], br#"{"answer":"yes"}"#].concat();
    let database = rusqlite::Connection::open(world.place().database().expect("a file")).expect("opens");
    assert_eq!(database.execute("UPDATE questions SET reply = ?1", [forged]).expect("updates"), 1);
    assert_eq!(call(&gate, "r", "d", "pay", json!({"n": 1})).await.status(), Status::Refused);
    assert_eq!(world.effects.load(Ordering::SeqCst), 0);
}
