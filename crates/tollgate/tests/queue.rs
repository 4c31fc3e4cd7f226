//! Questions that wait in a list: answered once, in time, by somebody else.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop the test")]

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate::{
    Effects, Output, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    outcome::RefusalCode,
    policy::{Grants, Layers, Lifetime, NotAnswered, Queue, Reply},
    tool::ToolBuilder,
};

struct World {
    gate: Tollgate,
    queue: Queue,
    grants: Grants,
    scope: Arc<Scope>,
}

fn world(life: Duration) -> World {
    let send = ToolBuilder::new(
        "send",
        "Sends.",
        json!({"type": "object", "properties": {"to": {"type": "string"}}}),
    )
    .unwrap()
    .effects(|_, _| Effects::writing())
    .run(|_, args| Box::pin(async move { Ok(Output::text(format!("sent {args}"))) }));
    let (queue, policy) = (Queue::new(life), Layers::new(Vec::new()));
    let grants = policy.grants();
    let gate =
        Tollgate::builder(Registry::new().with(send).unwrap()).policy(policy).approver(queue.clone()).build();
    World { gate, queue, grants, scope: Arc::new(Scope::new(Run::new("r"), Workspace::new("/work"))) }
}

impl World {
    fn call(&self, id: &str, args: &Value) -> tokio::task::JoinHandle<Settled> {
        let (gate, scope, call) = (self.gate.clone(), self.scope.clone(), Proposed::new(id, "send", args));
        tokio::spawn(async move { gate.call(&scope, call).await })
    }

    async fn wait_for(&self, count: usize) {
        let mut changes = self.queue.changed();
        while self.queue.list().len() != count {
            changes.changed().await.unwrap();
        }
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_question_shows_the_whole_call_and_is_answered_once() {
    let world = world(HOUR);
    let call = world.call("c1", &json!({"to": "ann"}));
    world.wait_for(1).await;
    let question = world.queue.list().remove(0);
    assert_eq!((question.id.as_str(), question.call.as_str(), question.tool.as_str()), ("q1", "c1", "send"));
    assert_eq!((&question.args, question.cwd.to_str()), (&json!({"to": "ann"}), Some("/work")));
    assert_eq!(question.reaches[0].rules, ["send(to=\"ann\", only)"]);
    let again: tollgate::policy::Pending =
        serde_json::from_value(serde_json::to_value(&question).unwrap()).unwrap();
    assert_eq!(again, question);
    assert!(matches!(world.queue.answer("q2", Reply::Yes), Err(NotAnswered::Unknown(_))));
    world.queue.answer("q1", Reply::Yes).unwrap();
    assert!(matches!(world.queue.answer("q1", Reply::Yes), Err(NotAnswered::Over(_))));
    assert_eq!(call.await.unwrap().output(), Some(&Output::text("sent {\"to\":\"ann\"}")));
    assert_eq!(world.queue.list(), []);
}

#[tokio::test]
async fn a_yes_is_good_for_one_call_and_equal_calls_ask_each_for_their_own() {
    let world = world(HOUR);
    let calls = [world.call("c1", &json!({})), world.call("c2", &json!({}))];
    world.wait_for(2).await;
    world.queue.answer("q1", Reply::Yes).unwrap();
    world.queue.answer("q2", Reply::No { message: Some("once is enough".to_owned()) }).unwrap();
    let [first, second] = calls;
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    let no = [&first, &second].into_iter().find_map(|settled| settled.refusal()).unwrap();
    assert_eq!((no.code, no.reason.as_str()), (RefusalCode::Denied, "The person said no: once is enough"));
    assert_eq!([&first, &second].iter().filter(|settled| settled.refusal().is_none()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_in_time_is_over_and_the_call_refused() {
    let world = world(Duration::from_secs(60));
    let settled = world.call("c1", &json!({})).await.unwrap();
    let refusal = settled.refusal().unwrap();
    assert_eq!(refusal.code, RefusalCode::ApprovalRequired);
    assert!(refusal.digest.is_some(), "whoever comes later can still say yes to exactly this");
    assert_eq!(world.queue.list(), []);
    assert!(matches!(world.queue.answer("q1", Reply::Yes), Err(NotAnswered::Over(_))));
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_question_along() {
    let world = world(HOUR);
    let call = world.call("c1", &json!({}));
    world.wait_for(1).await;
    world.scope.run.token().cancel();
    assert_eq!(call.await.unwrap().refusal().map(|refusal| refusal.code), Some(RefusalCode::Cancelled));
    assert_eq!(world.queue.list(), []);
}

#[tokio::test]
async fn an_always_answers_the_other_questions_it_means_and_no_more() {
    let world = world(HOUR);
    let calls = ["ann", "ann", "bob"].map(|to| world.call(to, &json!({"to": to})));
    world.wait_for(3).await;
    let ann = world.queue.list().into_iter().find(|question| question.call == "ann").unwrap();
    let always = Reply::Always { rules: vec!["send(to=ann)".to_owned()], lifetime: Lifetime::Session };
    world.queue.answer(&ann.id, always).unwrap();
    world.wait_for(1).await;
    assert_eq!(world.queue.list()[0].call, "bob");
    world.queue.answer(&world.queue.list()[0].id, Reply::No { message: None }).unwrap();
    let [first, second, third] = calls;
    assert!(first.await.unwrap().refusal().is_none() && second.await.unwrap().refusal().is_none());
    assert!(third.await.unwrap().refusal().is_some());
    assert_eq!(world.grants.list().len(), 1);
}

#[tokio::test]
async fn an_always_whose_rules_do_not_mean_the_call_is_no_answer() {
    for rules in [vec!["send(to=bob)".to_owned()], vec!["((".to_owned()], vec![]] {
        let world = world(HOUR);
        let call = world.call("c1", &json!({"to": "ann"}));
        world.wait_for(1).await;
        world
            .queue
            .answer("q1", Reply::Always { rules: rules.clone(), lifetime: Lifetime::Session })
            .unwrap();
        assert_eq!(call.await.unwrap().refusal().map(|no| no.code), Some(RefusalCode::Denied), "{rules:?}");
        assert_eq!(world.grants.list(), []);
    }
}
