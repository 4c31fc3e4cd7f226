//! What a run may take: it is warned before the end, and the end says which limit it was.

use std::{sync::Arc, time::Duration};

use tollgate::wire::Usage;
use tollgate_agent::{
    Limits, Part, StopReason, Stopped, machine::Limit, session::new_session_id, standin::Say,
};

use crate::world::{MODELS, World, within};

/// As many turns of one call each as anybody could want.
fn endless(world: &World, tool: &str) {
    let usage = Usage { input_tokens: 80, output_tokens: 20, ..Usage::default() };
    for at in 0..30 {
        world.standin.say(
            Say::text("")
                .call_with(&format!("c{at}"), tool, &serde_json::json!({"path": format!("p{at}")}))
                .usage(usage),
        );
    }
}

async fn run(world: &World, model: &str, limits: Limits) -> Stopped {
    let agent =
        world.agent(model).limits(limits).price(Arc::new(|_, usage| usage.output_tokens * 100)).build();
    let mut conversation = agent.begin(new_session_id()).unwrap();
    within(conversation.say(vec![Part::text("go")])).await
}

#[tokio::test]
async fn turns_calls_tokens_and_money_each_end_the_run_after_a_warning() {
    let none = Limits { turns: None, ..Limits::default() };
    let cases = [
        (Limits { turns: Some(6), ..none.clone() }, StopReason::TurnLimit { turns: 6 }, "turns are left"),
        (
            Limits { calls: Some(5), ..none.clone() },
            StopReason::Budget { limit: Limit::Calls },
            "calls are left",
        ),
        (
            Limits { tokens: Some(500), ..none.clone() },
            StopReason::Budget { limit: Limit::Tokens },
            "tokens are left",
        ),
        (
            Limits { microdollars: Some(10_000), ..none },
            StopReason::Budget { limit: Limit::Money },
            "$0.00 of $0.01 are left",
        ),
    ];
    for model in MODELS {
        for (limits, reason, warning) in &cases {
            let world = World::new().await;
            endless(&world, "read");
            let stopped = run(&world, model, limits.clone()).await;
            world.assert_accepted();
            assert_eq!(stopped.reason, *reason, "{model}");
            let sent = world.standin.seen().last().unwrap().body.to_string();
            assert_eq!(sent.matches(warning).count(), 1, "{model} {warning}");
        }
    }
}

#[tokio::test]
async fn time_that_is_used_up_stops_tools_and_model_alike() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("").call("c1", "steady", r#"{"ms":60000}"#));
        let stopped = run(&world, model, Limits { ms: Some(400), ..Limits::default() }).await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Budget { limit: Limit::Time }, "{model}");
    }
}

#[tokio::test]
async fn the_same_call_turn_after_turn_ends_the_run() {
    for model in MODELS {
        let world = World::new().await;
        for at in 0..30 {
            world.standin.say(Say::text("").call(&format!("c{at}"), "read", r#"{"path":"same"}"#));
        }
        let stopped = run(&world, model, Limits { turns: None, ..Limits::default() }).await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Repetition, "{model}");
        assert_eq!(world.log.count("read same"), 8, "{model}");
    }
}

#[tokio::test]
async fn a_turn_limit_is_for_one_message_and_a_raised_budget_lets_the_session_go_on() {
    let world = World::new().await;
    endless(&world, "read");
    let id = new_session_id();
    let limits = |calls| Limits { turns: Some(4), calls: Some(calls), ..Limits::default() };
    let mut conversation = world.agent("chat:any").limits(limits(6)).build().begin(id.clone()).unwrap();
    let stopped = within(conversation.say(vec![Part::text("go")])).await;
    assert_eq!(stopped.reason, StopReason::TurnLimit { turns: 4 });
    let stopped = within(conversation.say(vec![Part::text("more")])).await;
    assert_eq!(stopped.reason, StopReason::Budget { limit: Limit::Calls });
    drop(conversation);
    let mut conversation = world.agent("chat:any").limits(limits(9)).build().resume(&id).unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(20), conversation.go_on()).await.unwrap();
    assert_eq!((stopped.reason, stopped.spent.calls), (StopReason::Budget { limit: Limit::Calls }, 9));
    world.assert_accepted();
}

/// Someone who takes longer than the run has time.
struct Slow;

impl tollgate::policy::Approver for Slow {
    fn ask<'a>(
        &'a self,
        _: tollgate::policy::Question<'a>,
    ) -> tollgate::BoxFuture<'a, tollgate::policy::Answer> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(900)).await;
            tollgate::policy::Answer::Yes
        })
    }
}

#[tokio::test]
async fn time_in_which_a_person_is_waited_for_is_not_the_runs() {
    let world = World::new().await.rules(&[(tollgate::policy::Stance::Ask, "write")]);
    world.standin.say(Say::text("").call("c1", "write", r#"{"path":"a"}"#)).say(Say::text("ok"));
    let gate = world.gate_asking(Slow);
    let agent =
        world.agent_at("chat:any", gate).limits(Limits { ms: Some(800), ..Limits::default() }).build();
    let stopped = within(agent.begin(new_session_id()).unwrap().say(vec![Part::text("go")])).await;
    assert_eq!(stopped.reason, StopReason::Done, "{:?}", stopped.spent);
    assert_eq!(world.log.all(), ["write a"]);
}
